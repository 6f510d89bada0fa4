import Foundation
import ObservableStorage
import PropertyListCoding

/// `prefs read`: prints all entries, or one value.
struct ReadCommand: Command {
    static let name = "read"
    static let operands = "FILE [KEY]"
    static let operandCount = 1...2
    static let summary = "Print all entries as one JSON object, or the value of one key."
    static let details = """
        A single string is printed bare, anything else as JSON: a date as an ISO 8601 string, data as base64, a reference of an
        archive as {"CF$UID": n}. JSON has no word for some reals; they are the strings "nan", "inf" and "-inf".
        """

    private let file: PropertyListFile
    private let key: String?

    init(_ arguments: Arguments) {
        file = PropertyListFile(operand: arguments.operands[0])
        key = arguments.operands.dropFirst().first
    }

    func run(_ output: Output) throws {
        let entries = try file.existingEntries()
        guard let key else { return try output.write(entries.json(key: output.key)) }
        guard let value = entries[key] else { throw CommandError.noSuchKey(key) }
        if case .string(let string) = value {
            try output.write(line: string)
        } else {
            try output.write(line: value.json)
        }
    }
}

/// `prefs type`: prints the type of a value.
struct TypeCommand: Command {
    static let name = "type"
    static let operands = "FILE KEY"
    static let operandCount = 2...2
    static let summary = "Print the type of a key's value."
    static let details = "The type is string, integer, real, boolean, date, data, array, dictionary or uid."

    private let file: PropertyListFile
    private let key: String

    init(_ arguments: Arguments) {
        file = PropertyListFile(operand: arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        guard let value = try file.existingEntries()[key] else { throw CommandError.noSuchKey(key) }
        try output.write(line: value.typeName)
    }
}

/// `prefs export`: prints the whole property list.
struct ExportCommand: Command {
    static let name = "export"
    static let operands = "FILE --format xml|binary|json"
    static let operandCount = 1...1
    static let options = ["--format FORMAT"]
    static let summary = "Write the property list to standard output."
    static let usage = "prefs export FILE --format xml|binary|json"

    private let file: PropertyListFile
    /// nil for JSON.
    private let format: PropertyListFormat?

    init(_ arguments: Arguments) throws(CommandError) {
        switch arguments.options["format"] {
        case "xml": format = .xml
        case "binary": format = .binary
        case "json": format = nil
        case let name?: throw .usage("unknown format: \(name)")
        case nil: throw .usage("--format is missing")
        }
        file = PropertyListFile(operand: arguments.operands[0])
    }

    func run(_ output: Output) throws {
        let entries = try file.existingEntries()
        if let format {
            try output.write(encoded(entries, as: format))
        } else {
            try output.write(entries.json(key: output.key))
        }
    }

    private func encoded(_ entries: [String: PropertyListValue], as format: PropertyListFormat) throws(CommandError) -> Data {
        do throws(PropertyListError) {
            return try PropertyListValue.dictionary(entries).encoded(as: format)
        } catch {
            throw .failed("\(file.name): cannot be written as \(format): \(error)")
        }
    }
}
