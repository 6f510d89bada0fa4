import EtcdStorage
import FoundationSubset
import ObservableStorage

// Commands that examine the entries of several files.
extension Command {
    static let find = Command(
        "find", operands: "WORD [FILE ...]", etcdOperand: 1,
        summary: "Print the keys whose name or value contains WORD, in the given files or in all domains.",
        details: """
            The search ignores case. Values are compared as prefs read prints them, those in arrays and dictionaries one by one. Each line has
            the file, the path of the key and the value. The exit status is 1 if nothing was found. A file that cannot be read is reported, the
            others are searched, and the exit status is 3.
            """
    ) { arguments, output in
        let word = arguments.operands[0].lowercased()
        let etcd = try EtcdBackend.requested(by: arguments)
        var names = Array(arguments.operands.dropFirst())
        if names.isEmpty {
            let kind = arguments.suiteKind
            names = try PropertyListFile.domains(kind)
            // As `--state` replaces domains that are given.
            if kind == .state { names = names.map { PropertyListFile(suiteName: $0, kind: kind).name } }
        }
        var isFound = false
        let hasFailed = try forEach(names) { index, name in
            // The value of `--etcd` is the first one.
            let storage = if index == 0, let etcd { EntryStorage.etcd(etcd) } else { EntryStorage.file(PropertyListFile(operand: name)) }
            try storage.existingEntries().forEachNested { path, key, value in
                guard isMatch(key, value, word) else { return }
                isFound = true
                try output.write(line: "\(name.displayName): \(output.key(path.displayName)): \(value.json)")
            }
        }
        if hasFailed || !isFound { throw CommandError.reported(status: hasFailed ? 3 : 1) }
    }

    private static func isMatch(_ name: String, _ value: PropertyListValue, _ word: String) -> Bool {
        if name.lowercased().contains(word) { return true }
        switch value {
        case .array, .dictionary: return false
        default: return value.bareText.lowercased().contains(word)
        }
    }

    static let diff = Command(
        "diff", operands: "FILE FILE", etcdOperand: 0,
        summary: "Print the values that differ between two property lists, by path; exit with 1 if there are any.",
        details: """
            Each line begins with - for a value of the first file, or + for one of the second. Arrays are compared element by element. Values
            are typed JSON, as in prefs read, so that values of different types always differ.
            """
    ) { arguments, output in
        let old = try EntryStorage(arguments).existingEntries()
        let new = try PropertyListFile(operand: arguments.operands[1]).existingEntries()
        try new.forEachDifference(from: old) { path, old, new in
            if let old { try output.write(line: output.removed("- \(path.displayName): \(old.typedJSON)")) }
            if let new { try output.write(line: output.newValue("+ \(path.displayName): \(new.typedJSON)")) }
        }
        if new != old { throw CommandError.reported(status: 1) }
    }

    static let lint = Command(
        "lint", operands: "FILE ...", etcdOperand: 0,
        summary: "Check that files are property lists: print file, position and reason for each that is not, and exit with 1.",
        details: """
            The root may be of any type. - is standard input. A file that cannot be read makes the exit status 3. In etcd, the value of each key
            is checked.
            """
    ) { arguments, output in
        let etcd = try EtcdBackend.requested(by: arguments)
        var isInvalid = false
        let hasFailed = try forEach(arguments.operands) { index, name in
            let check = if index == 0, let etcd { try checked(etcd) } else { try checked(name) }
            if let line = check.line { try output.write(line: line) }
            for reason in check.reasons { CommandError.failed(reason).report() }
            if !check.reasons.isEmpty { isInvalid = true }
        }
        if hasFailed || isInvalid { throw CommandError.reported(status: hasFailed ? 3 : 1) }
    }

    /// The line to print for valid entries, or the reasons why they are invalid.
    private typealias Check = (line: String?, reasons: [String])

    /// Checks that keys in etcd all have property lists as values.
    private static func checked(_ etcd: EtcdBackend) throws -> Check {
        let check = try etcd.wait { try await $0.check() }
        return (check.failures.isEmpty ? "\(etcd.name): OK (\(check.keyCount) keys)" : nil, check.failures)
    }

    private static func checked(_ file: String) throws -> Check {
        let list = file == "-" ? nil : PropertyListFile(operand: file)
        // The name of no domain, which is the error of reading it; its path may be that of another file.
        if let list, list.url == nil { _ = try list.load() }
        let name = list?.name ?? "standard input"
        let bytes = try readInput(list?.name ?? "-")
        do throws(PropertyListError) {
            let (root, format) = try PropertyListValue.decode(bytes)
            return ("\(name.displayName): OK (\(format), \(root.typeName))", [])
        } catch {
            return (nil, ["\(name): \(error)"])
        }
    }

    /// Calls a closure for each name, and reports its errors; returns whether there were any.
    private static func forEach(_ names: [String], _ body: (_ index: Int, _ name: String) throws -> Void) throws -> Bool {
        var hasFailed = false
        for (index, name) in names.enumerated() {
            do {
                try body(index, name)
            } catch CommandError.outputClosed {
                throw CommandError.outputClosed
            } catch {
                CommandError(error).report()
                hasFailed = true
            }
        }
        return hasFailed
    }
}
