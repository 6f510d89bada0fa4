import PropertyListCoding

/// `prefs read`: prints everything, or one value.
struct ReadCommand: Command {
    static let name = "read"
    static let operands = "FILE [KEY]"
    static let operandCount = 1...2
    static let summary = "Print all entries as one JSON object, or the value of one key."
    static let details = """
        A single string is printed bare, anything else as JSON: a date as an ISO 8601 string, data as base64, a reference of an
        archive as {"CF$UID": n}. JSON has no word for some reals; they are the strings "nan", "inf" and "-inf".
        """

    private let file: PreferencesFile
    private let key: String?

    init(_ arguments: Arguments) {
        file = PreferencesFile(arguments.operands[0])
        key = arguments.operands.dropFirst().first
    }

    func run(_ output: Output) throws {
        let entries = try file.entries()
        guard let key else { return try output.write(JSONText.object(entries, style: output.style)) }
        guard let value = entries[key] else { throw Failure.noSuchKey(key) }
        if case .string(let string) = value {
            try output.write(line: string)
        } else {
            try output.write(line: JSONText.text(of: value))
        }
    }
}
