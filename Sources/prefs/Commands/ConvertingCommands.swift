import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs export`: prints the whole property list.
struct ExportCommand: Command {
    static let name = "export"
    static let operands = "FILE"
    static let options = ["--format xml|binary|json"]
    static let takesEtcd = true
    static let summary = "Write the property list to standard output."
    static let usage = "prefs export FILE --format xml|binary|json"

    private let storage: EntryStorage
    private let format: DocumentFormat

    init(_ arguments: Arguments) throws(CommandError) {
        format = try DocumentFormat(option: "format", of: arguments)
        storage = try EntryStorage(arguments)
    }

    func run(_ output: Output) throws {
        let entries = try storage.existingEntries()
        if format == .json {
            try output.write(entries.json(key: output.key))
        } else {
            try output.write(format.encoded(entries, of: storage.name))
        }
    }
}

/// `prefs import`: merges a property list into the file.
struct ImportCommand: Command {
    static let name = "import"
    static let operands = "FILE [SOURCE]"
    static let takesEtcd = true
    static let summary = "Set every entry of a property list or JSON object, from standard input or a file, as one transaction."
    static let details = """
        SOURCE is a path, or - for standard input. The format (binary, XML or JSON) is recognized by the content. JSON is read as by
        prefs write --json.
        """

    private let storage: EntryStorage
    private let source: String

    init(_ arguments: Arguments) throws(CommandError) {
        storage = try EntryStorage(arguments)
        source = arguments.operands.count > 1 ? arguments.operands[1] : "-"
    }

    func run(_ output: Output) throws {
        let imported = try entries(of: readInput(source))
        try storage.edit { entries in
            for (key, value) in imported { entries[key] = value }
        }
    }

    private func entries(of bytes: Data) throws(CommandError) -> [String: PropertyListValue] {
        let name = source == "-" ? "standard input" : source
        let isJSON = isJSON(bytes)
        let root: PropertyListValue
        do throws(PropertyListError) {
            root = try isJSON ? jsonValue(bytes) : PropertyListValue.decode(bytes).value
        } catch {
            throw .failed("\(name): \(isJSON ? "" : "not a readable property list: ")\(error)")
        }
        guard case .dictionary(let entries) = root else {
            throw .failed("\(name): its root is of type \(root.typeName), not a dictionary")
        }
        return entries
    }

    private func isJSON(_ bytes: Data) -> Bool {
        let space = [0x20, 0x09, 0x0A, 0x0D] as [UInt8]
        return bytes.first { !space.contains($0) } == UInt8(ascii: "{")
    }

    private func jsonValue(_ bytes: Data) throws(PropertyListError) -> PropertyListValue {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PropertyListError(offset: nil, reason: "not JSON: it is not UTF-8")
        }
        return try JSONReader.value(of: text)
    }
}

/// `prefs convert`: changes the format of a file.
struct ConvertCommand: Command {
    static let name = "convert"
    static let operands = "FILE"
    static let options = ["--to xml|binary|json", "--output PATH", "--lossy"]
    static let usage = "prefs convert FILE --to xml|binary|json [-o PATH | --output PATH] [--lossy]"
    static let summary = "Change the format of a property list in place, or write it as JSON to standard output."
    static let details = """
          -o PATH   write the result to another file, or with - to standard output, and leave FILE as it is
          --lossy   convert also what the format cannot represent exactly: XML truncates dates to seconds; JSON has strings for dates, data,
                    nan and infinity, and an object for a reference of an archive

        In place, the file is replaced atomically under its lock, and its mode and owner are kept.
        """

    private let file: PropertyListFile
    private let format: DocumentFormat
    private let destination: String?
    private let isLossy: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        format = try DocumentFormat(option: "to", of: arguments)
        destination = arguments.options["output"] ?? (format == .json ? "-" : nil)
        isLossy = arguments.has("lossy")
        file = PropertyListFile(operand: arguments.operands[0])
        guard destination != "" else { throw .usage("the name of the output is empty") }
    }

    func run(_ output: Output) throws {
        let entries = try file.existingEntries()
        if let destination {
            try check(entries)
            let bytes = try format.encoded(entries, of: file.name)
            return destination == "-" ? try output.write(bytes) : try write(bytes, to: destination)
        }
        try file.convert(to: format == .xml ? .xml : .binary) { try check($0) }
    }

    /// Throws an error for the first value that the format cannot represent.
    private func check(_ entries: [String: PropertyListValue]) throws(CommandError) {
        do {
            try entries.forEachNested { path, name, value in
                if let reason = format.reason(against: name, value, isLossy: isLossy) {
                    throw CommandError.failed("\(file.name): cannot be converted: key \(path.quoted): \(reason)")
                }
            }
        } catch {
            throw CommandError(error)
        }
    }

    private func write(_ bytes: Data, to path: String) throws(CommandError) {
        do {
            let (source, target) = (URL(fileURLWithPath: file.name), URL(fileURLWithPath: path))
            guard source.resolvingSymlinksInPath() != target.resolvingSymlinksInPath() else {
                throw CommandError.failed("\(path): is the file itself; without -o it is converted in place")
            }
            try bytes.write(to: target, options: .atomic)
        } catch let error as CommandError {
            throw error
        } catch {
            throw .failed("\(path): cannot be written: \(error)")
        }
    }
}

/// A format that a command writes.
enum DocumentFormat: String {
    case xml, binary, json

    /// Reads the value of an option.
    init(option: String, of arguments: Arguments) throws(CommandError) {
        guard let name = arguments.options[option] else { throw .usage("--\(option) is missing") }
        guard let format = DocumentFormat(rawValue: name) else { throw .usage("unknown format: \(name)") }
        self = format
    }

    /// The bytes of a property list.
    func encoded(_ entries: [String: PropertyListValue], of file: String) throws(CommandError) -> Data {
        guard self != .json else { return Data(entries.json()) }
        do throws(PropertyListError) {
            return try PropertyListValue.dictionary(entries).encoded(as: self == .xml ? .xml : .binary)
        } catch {
            throw .failed("\(file): cannot be written as \(self): \(error)")
        }
    }

    /// The reason why the format cannot represent an entry, apart from the values in it; nil if it can.
    func reason(against name: String, _ value: PropertyListValue, isLossy: Bool) -> String? {
        switch (self, value) {
        case (.binary, _): return nil
        case (.json, _) where isLossy: return nil
        case (.json, .date), (.json, .data), (.json, .uid): return "JSON has no type \(value.typeName) (--lossy writes a substitute)"
        case (.json, .real(let real)) where !real.isFinite: return "JSON has no number \(real) (--lossy writes a string)"
        case (.json, _): return nil
        case (.xml, _): break
        }
        let isContainer = ["array", "dictionary"].contains(value.typeName)
        do throws(PropertyListError) {
            _ = try PropertyListValue.dictionary([name: isContainer ? true : value]).encoded(as: .xml)
        } catch {
            return error.reason
        }
        if isLossy || isContainer || value.rounded(for: .xml) == value { return nil }
        return "XML truncates \(value.bareText) (--lossy allows it)"
    }
}
