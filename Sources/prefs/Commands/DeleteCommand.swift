import ObservableStorage

/// `prefs delete`: removes one entry, or all of them.
struct DeleteCommand: Command {
    static let name = "delete"
    static let operands = "FILE [KEY]"
    static let operandCount = 1...2
    static let summary = "Remove one key, or all of them; the file stays."

    private let file: PreferencesFile
    private let key: String?

    init(_ arguments: Arguments) {
        file = PreferencesFile(arguments.operands[0])
        key = arguments.operands.dropFirst().first
    }

    func run(_ output: Output) throws {
        // A lock file beside a file that was only misspelt would be litter.
        _ = try file.entries()
        try file.edit { entries in
            if let key, entries.values[key] == nil { throw Failure.noSuchKey(key) }
            for key in key.map({ [$0] }) ?? Array(entries.values.keys) { entries[key] = nil }
        }
    }
}
