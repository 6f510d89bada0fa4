import ObservableStorage

/// What an error says on standard error: one line that names the file and the reason.
enum ErrorText {
    static func text(for error: any Error) -> String {
        String(describing: error)
    }

    /// Keeps a text on one line, whatever a file may be called.
    static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }
}
