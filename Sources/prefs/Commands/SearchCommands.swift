import EtcdStorage
import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs find`: searches keys and values.
struct FindCommand: Command {
    static let name = "find"
    static let operands = "WORD [FILE ...]"
    static let takesEtcd = true
    static let etcdOperand = 1
    static let summary = "Print the keys whose name or value contains WORD, in the given files or in all domains."
    static let details = """
        The search ignores case. Values are compared as prefs read prints them, those in arrays and dictionaries one by one. Each line has
        the file, the path of the key and the value. The exit status is 1 if nothing was found. A file that cannot be read is reported, the
        others are searched, and the exit status is 3.
        """

    private let word: String
    private let etcd: EtcdBackend?
    // In the order given, with that of etcd first.
    private let names: [String]

    init(_ arguments: Arguments) throws(CommandError) {
        word = arguments.operands[0].lowercased()
        etcd = try EtcdBackend.requested(by: arguments)
        names = Array(arguments.operands.dropFirst())
    }

    func run(_ output: Output) throws {
        var status: Int32 = 1
        var hasFailed = false
        for (name, storage) in try storages() {
            do {
                try storage.existingEntries().forEachNested { path, key, value in
                    guard isMatch(key, value) else { return }
                    status = 0
                    try output.write(line: "\(name.displayName): \(output.key(path.displayName)): \(value.json)")
                }
            } catch CommandError.outputClosed {
                throw CommandError.outputClosed
            } catch {
                CommandError(error).report()
                hasFailed = true
            }
        }
        if hasFailed { status = 3 }
        if status != 0 { throw CommandError.reported(status: status) }
    }

    /// The storages to search, with their names as given.
    private func storages() throws -> [(name: String, EntryStorage)] {
        var names = names.isEmpty ? try PropertyListFile.domains() : names
        let first = etcd.map { [(names.removeFirst(), EntryStorage.etcd($0))] } ?? []
        return first + names.map { ($0, .file(PropertyListFile(operand: $0))) }
    }

    private func isMatch(_ name: String, _ value: PropertyListValue) -> Bool {
        if name.lowercased().contains(word) { return true }
        switch value {
        case .array, .dictionary: return false
        default: return value.bareText.lowercased().contains(word)
        }
    }
}

/// `prefs diff`: compares two property lists.
struct DiffCommand: Command {
    static let name = "diff"
    static let operands = "FILE FILE"
    static let takesEtcd = true
    static let summary = "Print the values that differ between two property lists, by path; exit with 1 if there are any."
    static let details = """
        Each line begins with - for a value of the first file, or + for one of the second. Arrays are compared element by element. Values
        are typed JSON, as in prefs read, so that values of different types always differ.
        """

    private let storages: [EntryStorage]

    init(_ arguments: Arguments) throws(CommandError) {
        storages = [try EntryStorage(arguments), .file(PropertyListFile(operand: arguments.operands[1]))]
    }

    func run(_ output: Output) throws {
        let differences = Difference.all(from: try storages[0].existingEntries(), to: try storages[1].existingEntries())
        for difference in differences {
            let name = difference.path.displayName
            if let old = difference.old { try output.write(line: output.removed("- \(name): \(old.typedJSON)")) }
            if let new = difference.new { try output.write(line: output.newValue("+ \(name): \(new.typedJSON)")) }
        }
        guard differences.isEmpty else { throw CommandError.reported(status: 1) }
    }
}

/// `prefs lint`: checks whether files are property lists.
struct LintCommand: Command {
    static let name = "lint"
    static let operands = "FILE ..."
    static let takesEtcd = true
    static let summary = "Check that files are property lists: print file, position and reason for each that is not, and exit with 1."
    static let details = """
        The root may be of any type. - is standard input. A file that cannot be read makes the exit status 3. In etcd, the value of each key
        is checked.
        """

    private let etcd: EtcdBackend?
    private let files: [String]

    init(_ arguments: Arguments) throws(CommandError) {
        etcd = try EtcdBackend.requested(by: arguments)
        files = Array(arguments.operands.dropFirst(etcd == nil ? 0 : 1))
    }

    func run(_ output: Output) throws {
        var status: Int32 = 0
        let checks = (etcd.map { etcd in [{ try Self.checked(etcd) }] } ?? []) + files.map { file in { try Self.checked(file) } }
        for check in checks {
            do {
                let (line, reasons) = try check()
                if let line { try output.write(line: line) }
                for reason in reasons { CommandError.failed(reason).report() }
                if !reasons.isEmpty { status = max(status, 1) }
            } catch CommandError.outputClosed {
                throw CommandError.outputClosed
            } catch {
                CommandError(error).report()
                status = 3
            }
        }
        if status != 0 { throw CommandError.reported(status: status) }
    }

    /// The line to print for valid entries, or the reasons why they are invalid.
    private typealias Outcome = (line: String?, reasons: [String])

    /// Checks that keys in etcd all have property lists as values.
    private static func checked(_ etcd: EtcdBackend) throws -> Outcome {
        let check = try etcd.wait { try await $0.check() }
        return (check.failures.isEmpty ? "\(etcd.name): OK (\(check.keyCount) keys)" : nil, check.failures)
    }

    /// Checks that a file is a property list.
    private static func checked(_ file: String) throws -> Outcome {
        let name = file == "-" ? "standard input" : PropertyListFile(operand: file).name
        let bytes = try readInput(file == "-" ? file : name)
        do throws(PropertyListError) {
            let (root, format) = try PropertyListValue.decode(bytes)
            return ("\(name.displayName): OK (\(format), \(root.typeName))", [])
        } catch {
            return (nil, ["\(name): \(error)"])
        }
    }
}
