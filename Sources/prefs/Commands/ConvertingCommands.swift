import FoundationSubset
import ObservableStorage

// Commands that write whole property lists.
extension Command {
    static let export = Command(
        "export", operands: "FILE", options: ["--format xml|binary|json"], etcdOperand: 0,
        usage: "prefs export FILE --format xml|binary|json", summary: "Write the property list to standard output."
    ) { arguments, output in
        let format = try PropertyListFormat(option: "format", of: arguments)
        let storage = try EntryStorage(arguments)
        let entries = try storage.existingEntries()
        try output.write(format == .json ? entries.json(key: output.key) : Array(format.encoded(entries, of: storage.name)))
    }

    static let `import` = Command(
        "import", operands: "FILE [SOURCE]", etcdOperand: 0,
        summary: "Set every entry of a property list or JSON object, from standard input or a file, as one transaction.",
        details: "SOURCE is a path, or - for standard input. The format (binary, XML or JSON) is recognized by the content."
    ) { arguments, _ in
        let storage = try EntryStorage(arguments)
        let source = arguments.operands.count > 1 ? arguments.operands[1] : "-"
        let imported = try entries(of: readInput(source), named: source == "-" ? "standard input" : source)
        try storage.edit { entries in
            for (key, value) in imported { entries[key] = value }
        }
    }

    /// Decodes a property list whose root is a dictionary.
    static func entries(of bytes: Data, named name: String) throws(CommandError) -> [String: PropertyListValue] {
        let root: PropertyListValue
        do throws(PropertyListError) {
            root = try PropertyListValue.decode(bytes).value
        } catch {
            throw .failed("\(name): not a readable property list: \(error)")
        }
        guard case .dictionary(let entries) = root else {
            throw .failed("\(name): its root is of type \(root.typeName), not a dictionary")
        }
        return entries
    }

    static let convert = Command(
        "convert", operands: "FILE", options: ["--to xml|binary|json", "--output PATH", "--lossy"],
        usage: "prefs convert FILE --to xml|binary|json [-o PATH | --output PATH] [--lossy]",
        summary: "Change the format of a property list in place, or write it as JSON to standard output.",
        details: """
              -o PATH   write the result to another file, or with - to standard output, and leave FILE as it is; a file that exists keeps its
                        mode, a new one is for this user only, and a pipe or a device is written
              --lossy   convert also what the format cannot represent exactly: XML truncates dates to seconds; JSON has strings for dates, data,
                        nan and infinity, and an object for a reference of an archive

            In place, the file is replaced atomically under its lock, and its mode and owner are kept.
            """
    ) { arguments, output in
        let format = try PropertyListFormat(option: "to", of: arguments)
        let destination = arguments.options["output"] ?? (format == .json ? "-" : nil)
        guard destination != "" else { throw CommandError.usage("the name of the output is empty") }
        let isLossy = arguments.has("lossy")
        let file = PropertyListFile(operand: arguments.operands[0])
        let entries = try file.existingEntries()
        guard let destination else {
            return try file.convert(to: format) { try format.check($0, of: file.name, isLossy: isLossy) }
        }
        try format.check(entries, of: file.name, isLossy: isLossy)
        let bytes = try format == .json && isLossy ? Data(entries.json()) : format.encoded(entries, of: file.name)
        try destination == "-" ? output.write(bytes) : replace(destination, with: bytes, convertedFrom: file.name)
    }

    private static func replace(_ path: String, with bytes: Data, convertedFrom file: String) throws {
        let (source, target) = (URL(fileURLWithPath: file), URL(fileURLWithPath: path))
        guard source.resolvingSymlinksInPath() != target.resolvingSymlinksInPath() else {
            throw CommandError.failed("\(path): is the file itself; without -o it is converted in place")
        }
        var (status, other) = (stat(), stat())
        guard stat(path, &status) == 0 else { return try FileSystemCalls.live.replaceFile(at: path, with: bytes) }
        func isOutput(_ descriptor: Int32) -> Bool {
            fstat(descriptor, &other) == 0 && (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino)
        }
        // Written and not replaced: a standard stream, as /dev/stderr is, or /dev/fd/3, also if it is a file; a pipe, and a device.
        let number = path.hasPrefix("/dev/fd/") ? Int32(path.dropFirst("/dev/fd/".count)) : nil
        if let stream = [STDOUT_FILENO, STDERR_FILENO, number ?? -1].first(where: isOutput) {
            return try Output(descriptor: stream, isColoured: false, name: path).write(bytes)
        }
        if [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) { return try FileSystemCalls.live.replaceFile(at: path, with: bytes) }
        let descriptor = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError.failed("\(path): cannot be written: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        // Another user may have put a link to any file in its place.
        guard isOutput(descriptor) else { throw CommandError.failed("\(path): was replaced while it was opened; try again") }
        try Output(descriptor: descriptor, isColoured: false, name: path).write(bytes)
    }
}

extension PropertyListFormat {
    fileprivate init(option: String, of arguments: Arguments) throws(CommandError) {
        guard let name = arguments.options[option] else { throw .usage("--\(option) is missing") }
        guard let format = PropertyListFormat(rawValue: name) else { throw .usage("unknown format: \(name)") }
        self = format
    }

    func encoded(_ entries: [String: PropertyListValue], of file: String) throws(CommandError) -> Data {
        do throws(PropertyListError) {
            return try PropertyListValue.dictionary(entries).encoded(as: self)
        } catch {
            throw .failed("\(file): cannot be written as \(self): \(error)")
        }
    }

    /// Throws an error for the first value that the format cannot represent.
    fileprivate func check(_ entries: [String: PropertyListValue], of file: String, isLossy: Bool) throws {
        try entries.forEachNested { path, name, value in
            if let reason = reason(against: name, value, isLossy: isLossy) {
                throw CommandError.failed("\(file): cannot be converted: key \(path.quoted): \(reason)")
            }
        }
    }

    /// The reason why the format cannot represent an entry, apart from the values in it; nil if it can.
    private func reason(against name: String, _ value: PropertyListValue, isLossy: Bool) -> String? {
        guard self != .binary, self != .json || !isLossy else { return nil }
        let isContainer = ["array", "dictionary"].contains(value.typeName)
        do throws(PropertyListError) {
            _ = try PropertyListValue.dictionary([name: isContainer ? true : value]).encoded(as: self)
        } catch {
            return error.reason + (self == .json ? " (--lossy writes a substitute)" : "")
        }
        if isLossy || isContainer || value.rounded(for: self) == value { return nil }
        return "XML truncates \(value.bareText) (--lossy allows it)"
    }
}
