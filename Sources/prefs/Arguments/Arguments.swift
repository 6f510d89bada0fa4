import FoundationSubset
import ObservableStorage

struct Arguments: Equatable {
    /// The arguments that are not options, in order.
    var operands: [String] = []
    /// The values of the options by name; empty for an option without a value.
    var options: [String: String] = [:]

    func has(_ name: String) -> Bool {
        options[name] != nil
    }

    /// The kind of the domains among the operands.
    var suiteKind: SuiteKind { has("state") ? .state : .configuration }
}

extension Arguments {
    // The option that each letter stands for.
    private static let shortOptions = ["-h": "--help", "-o": "--output"]

    /// Parses a command line; `--help` and `-h` are always accepted.
    ///
    /// Options may appear anywhere before `--`. The value of an option is the next argument, or follows a `=`. A negative number is an
    /// operand, and so is a lone dash.
    ///
    /// - Parameters:
    ///   - arguments: the arguments after the command's name.
    ///   - options: as shown in the usage: with a placeholder after the name, as in `--count N`, for an option that has a value.
    ///   - isIncomplete: whether options that are not valid are ignored, because the command line is still being typed.
    init(parsing arguments: [String], options: [String], isIncomplete: Bool = false) throws(CommandError) {
        let options = options + ["--help"]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                break
            } else if Self.isOperand(argument) {
                operands.append(argument)
            } else {
                do throws(CommandError) {
                    let (name, value) = try Self.option(argument, &rest, of: options)
                    guard self.options.updateValue(value, forKey: name) == nil else { throw .usage("--\(name) is given twice") }
                } catch {
                    if !isIncomplete { throw error }
                }
            }
        }
    }

    private static func isOperand(_ argument: String) -> Bool {
        !argument.hasPrefix("-") || argument == "-" || Double(argument) != nil
    }

    private static func option(
        _ argument: String, _ rest: inout ArraySlice<String>, of options: [String]
    ) throws(CommandError) -> (name: String, value: String) {
        let parts = (Self.shortOptions[argument] ?? argument).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let option = options.first(where: { $0.split(separator: " ")[0] == parts[0] }) else {
            throw .usage("unknown option: \(argument.split(separator: "=")[0])")
        }
        let name = String(parts[0].dropFirst(2))
        let attached = parts.count > 1 ? String(parts[1]) : nil
        guard option.contains(" ") else {
            guard attached == nil else { throw .usage("--\(name) has no value") }
            return (name, "")
        }
        guard let value = attached ?? rest.popFirst() else { throw .usage("--\(name) needs a value") }
        return (name, value)
    }
}

// MARK: - The operand FILE

// Commands that read or edit once access the file directly: they need neither a store nor a file watcher.
extension PropertyListFile {
    /// Interprets the operand FILE: a path if it contains a `/` or ends in `.plist` or `.json`, and otherwise the name of a domain, whose file is that
    /// of `ObservableStore(suiteName:)`.
    convenience init(operand: String) {
        if Self.isPath(operand) { self.init(path: operand) } else { self.init(suiteName: operand) }
    }

    static func isPath(_ operand: String) -> Bool {
        operand.utf8.contains(UInt8(ascii: "/")) || [".plist", ".json"].contains { operand.lowercased().hasSuffix($0) }
    }

    /// The domains that have a file, sorted; none if their folder does not exist.
    static func domains(_ kind: SuiteKind) throws -> [String] {
        let folder = String(PropertyListFile(suiteName: "any", kind: kind).name.dropLast("/any.plist".count))
        guard let opened = opendir(folder) else {
            if errno == ENOENT { return [] }
            throw CommandError.failed("\(folder): cannot be read: \(String(cString: strerror(errno)))")
        }
        closedir(opened)
        return try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".plist") && !$0.hasPrefix(".") }
            .map { String($0.dropLast(".plist".count)) }
            // Foundation substitutes U+FFFD for what is not UTF-8, which would be the name of another file.
            .filter { !isPath($0) && !$0.unicodeScalars.contains("\u{FFFD}") }
            .sorted { $0.precedes($1) }
    }

    /// The files from which a program that opens the domain FILE reads its values, in order of precedence, if an option asks for them; nil
    /// otherwise. A path has a single layer.
    static func layers(
        requestedBy option: String, _ arguments: Arguments
    ) throws(CommandError) -> [(origin: String, file: PropertyListFile)]? {
        guard arguments.has(option) else { return nil }
        guard arguments.etcdOption == nil else { throw .usage("--\(option) needs a file: there are no layers in etcd") }
        let operand = arguments.operands[0]
        let stored = (origin: "stored", file: PropertyListFile(operand: operand))
        guard !isPath(operand) else { return [stored] }
        let (defaults, mandatory) = administratorsFiles(ofSuite: operand)
        return mandatory.map { (origin: "mandatory", file: $0) } + [stored] + defaults.map { (origin: "defaults", file: $0) }
    }

    /// Reads or edits the file, and prints its other errors, such as discarded edits of a killed process.
    func reporting<Success>(_ body: () throws -> Success) throws -> Success {
        let result = Result { try body() }
        var thrown: StorageError?
        // The caller prints this one.
        if case .failure(let error) = result { thrown = error as? StorageError }
        for error in takeReports() where error != thrown { CommandError(error).report() }
        return try result.get()
    }

    /// Reads the entries of an existing file: a missing file is an error, because its name may be misspelt.
    func existingEntries() throws -> [String: PropertyListValue] {
        let entries = try reporting { try load().values }
        if entries.isEmpty, !FileManager.default.fileExists(atPath: name) { throw CommandError.failed("\(name): no such file") }
        return entries
    }
}
