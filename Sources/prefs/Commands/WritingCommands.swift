import Foundation
import ObservableStorage
import PropertyListCoding

/// `prefs write`: sets one key.
struct WriteCommand: Command {
    static let name = "write"
    static let operands = "FILE KEY VALUE"
    static let operandCount = 3...3
    static let options = ValueSyntax.allCases.map { "--\($0.rawValue)" }
    static let usage = "prefs write FILE KEY VALUE [\(options.joined(separator: " | "))]"
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

    private let file: PropertyListFile
    private let key: String
    private let value: PropertyListValue

    init(_ arguments: Arguments) throws(CommandError) {
        let syntaxes = ValueSyntax.allCases.filter { arguments.has($0.rawValue) }
        guard syntaxes.count < 2 else {
            throw .usage("a value has one type: --\(syntaxes[0].rawValue) or --\(syntaxes[1].rawValue)")
        }
        value = try (syntaxes.first ?? .string).value(arguments.operands[2])
        file = PropertyListFile(operand: arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        _ = try file.edit { $0[key] = value }
    }
}

/// `prefs delete`: removes one entry, or all of them.
struct DeleteCommand: Command {
    static let name = "delete"
    static let operands = "FILE [KEY]"
    static let operandCount = 1...2
    static let summary = "Remove one key, or all of them; the file stays."

    private let file: PropertyListFile
    private let key: String?

    init(_ arguments: Arguments) {
        file = PropertyListFile(operand: arguments.operands[0])
        key = arguments.operands.dropFirst().first
    }

    func run(_ output: Output) throws {
        // Editing creates a lock file, which must not appear next to a misspelt name.
        _ = try file.existingEntries()
        _ = try file.edit { entries in
            if let key, entries.values[key] == nil { throw CommandError.noSuchKey(key) }
            for key in key.map({ [$0] }) ?? Array(entries.values.keys) { entries[key] = nil }
        }
    }
}

/// `prefs increment`: adds to an integer in one transaction.
struct IncrementCommand: Command {
    static let name = "increment"
    static let operands = "FILE KEY [BY]"
    static let operandCount = 2...3
    static let summary = "Add 1 or BY to an integer, atomically, and print the sum."
    static let details = "A missing key counts from 0. BY may be negative. A sum that is out of range changes nothing."

    private let file: PropertyListFile
    private let key: String
    private let step: Int128

    init(_ arguments: Arguments) throws(CommandError) {
        let text = arguments.operands.count > 2 ? arguments.operands[2] : "1"
        guard let step = Int128(text), PropertyListInteger(exactly: step) != nil else {
            throw .usage("not a whole number in range: \(text)")
        }
        self.step = step
        file = PropertyListFile(operand: arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        var sum: PropertyListInteger = 0
        _ = try file.edit { entries in
            sum = try self.sum(entries[key] ?? 0)
            entries[key] = .integer(sum)
        }
        try output.write(line: sum.description)
    }

    private func sum(_ stored: PropertyListValue) throws(CommandError) -> PropertyListInteger {
        guard case .integer(let integer) = stored, let count = integer.value(as: Int128.self) else {
            throw .failed("\(file.name): key \(key.quoted) cannot be incremented: it is of type \(stored.typeName)")
        }
        guard let sum = PropertyListInteger(exactly: count + step) else {
            throw .failed("\(file.name): key \(key.quoted) cannot be incremented: \(count + step) is out of range")
        }
        return sum
    }
}

/// `prefs import`: merges a property list into the file.
struct ImportCommand: Command {
    static let name = "import"
    static let operands = "FILE"
    static let operandCount = 1...1
    static let summary = "Set every entry of the property list on standard input, binary or XML, as one transaction."

    private let file: PropertyListFile

    init(_ arguments: Arguments) {
        file = PropertyListFile(operand: arguments.operands[0])
    }

    func run(_ output: Output) throws {
        let imported = try entries(of: readStandardInput())
        _ = try file.edit { entries in
            for (key, value) in imported { entries[key] = value }
        }
    }

    private func entries(of bytes: Data) throws(CommandError) -> [String: PropertyListValue] {
        let root: PropertyListValue
        do throws(PropertyListError) {
            root = try PropertyListValue.decode(bytes).value
        } catch {
            throw .failed("standard input: not a readable property list: \(error)")
        }
        guard case .dictionary(let entries) = root else {
            throw .failed("standard input: its root is of type \(root.typeName), not a dictionary")
        }
        return entries
    }
}
