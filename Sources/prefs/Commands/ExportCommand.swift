import Foundation
import PropertyListCoding

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

    private let file: PreferencesFile
    private let format: Format

    init(_ arguments: Arguments) throws(ArgumentParser.Mistake) {
        guard let name = arguments.options["format"] else { throw ArgumentParser.Mistake(reason: "--format is missing") }
        guard let format = Format(rawValue: name) else { throw ArgumentParser.Mistake(reason: "unknown format: \(name)") }
        self.format = format
        file = PreferencesFile(arguments.operands[0])
    }

    func run(_ output: Output) throws {
        let entries = try file.entries()
        switch format {
        case .json: try output.write(JSONText.object(entries, style: output.style))
        case .xml: try output.write(encoded(entries, as: .xml))
        case .binary: try output.write(encoded(entries, as: .binary))
        }
    }

    private func encoded(_ entries: [String: PropertyListValue], as format: PropertyListFormat) throws(Failure) -> Data {
        do throws(PropertyListError) {
            return try PropertyListValue.dictionary(entries).encoded(as: format)
        } catch {
            throw .impossible("\(file.path): cannot be written as \(self.format.rawValue): \(error)")
        }
    }
}
