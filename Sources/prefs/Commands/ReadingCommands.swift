import Foundation
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

    private let file: FileOperand
    private let key: String?

    init(_ arguments: Arguments) {
        file = FileOperand(arguments.operands[0])
        key = arguments.operands.dropFirst().first
    }

    func run(_ output: Output) throws {
        let entries = try file.entries()
        guard let key else { return try output.write(JSONWriter.object(entries, style: output.style)) }
        guard let value = entries[key] else { throw CommandError.noSuchKey(key) }
        if case .string(let string) = value {
            try output.write(line: string)
        } else {
            try output.write(line: JSONWriter.text(of: value))
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

    private let file: FileOperand
    private let key: String

    init(_ arguments: Arguments) {
        file = FileOperand(arguments.operands[0])
        key = arguments.operands[1]
    }

    func run(_ output: Output) throws {
        guard let value = try file.entries()[key] else { throw CommandError.noSuchKey(key) }
        try output.write(line: value.typeName)
    }
}

/// `prefs export`: prints the whole property list.
struct ExportCommand: Command {
    private enum Format: String {
        case xml, binary, json
    }

    static let name = "export"
    static let operands = "FILE --format xml|binary|json"
    static let operandCount = 1...1
    static let options = [Option(name: "format", value: "FORMAT")]
    static let summary = "Write the property list to standard output."
    static let usage = "prefs export FILE --format xml|binary|json"

    private let file: FileOperand
    private let format: Format

    init(_ arguments: Arguments) throws(ParseError) {
        guard let name = arguments.options["format"] else { throw ParseError(reason: "--format is missing") }
        guard let format = Format(rawValue: name) else { throw ParseError(reason: "unknown format: \(name)") }
        self.format = format
        file = FileOperand(arguments.operands[0])
    }

    func run(_ output: Output) throws {
        let entries = try file.entries()
        switch format {
        case .json: try output.write(JSONWriter.object(entries, style: output.style))
        case .xml: try output.write(encoded(entries, as: .xml))
        case .binary: try output.write(encoded(entries, as: .binary))
        }
    }

    private func encoded(_ entries: [String: PropertyListValue], as format: PropertyListFormat) throws(CommandError) -> Data {
        do throws(PropertyListError) {
            return try PropertyListValue.dictionary(entries).encoded(as: format)
        } catch {
            throw .failed("\(file.path): cannot be written as \(self.format.rawValue): \(error)")
        }
    }
}
