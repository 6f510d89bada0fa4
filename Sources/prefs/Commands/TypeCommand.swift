import PropertyListCoding

/// `prefs type`: prints what kind of value a key has.
struct TypeCommand: Command {
    static let name = "type"
    static let operands = "FILE KEY"
    static let operandCount = 2...2
    static let summary = "Print the type of a key's value."
    static let details = "The type is string, integer, real, boolean, date, data, array, dictionary or uid."

    private let file: PreferencesFile
    private let key: String

    init(_ arguments: Arguments) {
        file = PreferencesFile(arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        guard let value = try file.entries()[key] else { throw Failure.noSuchKey(key) }
        try output.write(line: value.typeName)
    }
}
