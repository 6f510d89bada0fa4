import ObservableStorage
import PropertyListCoding

/// `prefs write`: sets one key.
struct WriteCommand: Command {
    static let name = "write"
    static let operands = "FILE KEY VALUE"
    static let operandCount = 3...3
    static let options = ValueSyntax.allCases.map { Option(name: $0.rawValue) }
    static let usage = "prefs write FILE KEY VALUE [\(options.map(\.usage).joined(separator: " | "))]"
    static let summary = "Set the value of a key; it is on disk when the command ends."
    static let details = """
        VALUE is a string unless an option says otherwise:
          --int    a whole number from -9223372036854775808 to 18446744073709551615
          --real   a number, or nan, inf, -inf
          --bool   true, false, yes, no, 1 or 0
          --date   ISO 8601 with Z or an offset, such as 2026-11-20T10:00:00.25Z or 2026-11-20T11:00:00+01:00
          --data   base64
          --json   any JSON without null: whole numbers are integers, numbers with a fraction or an exponent are reals
        """

    private let file: PreferencesFile
    private let key: String
    private let value: PropertyListValue

    init(_ arguments: Arguments) throws(ArgumentParser.Mistake) {
        let syntaxes = ValueSyntax.allCases.filter { arguments.has($0.rawValue) }
        guard syntaxes.count < 2 else {
            throw ArgumentParser.Mistake(reason: "a value has one type: --\(syntaxes[0].rawValue) or --\(syntaxes[1].rawValue)")
        }
        value = try (syntaxes.first ?? .string).value(arguments.operands[2])
        file = PreferencesFile(arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        try file.edit { $0[key] = value }
    }
}
