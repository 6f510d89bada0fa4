import ObservableStorage

/// What an error says on standard error: one line that names the file and the reason.
enum ErrorText {
    static func text(for error: any Error) -> String {
        switch error {
        // The store's own words promise another try, which a command that ends does not make.
        case StorageError.unwritable(let file, let reason): "\(file): cannot be written: \(reason)"
        case StorageError.locked(let file, let waited): "\(file): locked by another process for more than \(waited)"
        default: String(describing: error)
        }
    }

    /// Keeps a text on one line, whatever a file may be called.
    static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
