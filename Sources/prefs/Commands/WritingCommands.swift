import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs delete`: removes one entry, or all of them.
struct DeleteCommand: Command {
    static let name = "delete"
    static let operands = "FILE [KEY]"
    static let options = [EntryPath.literalOption]
    static let takesEtcd = true
    static let summary = "Remove one key, or all of them; the file is kept."

    private let storage: EntryStorage
    private let path: EntryPath?

    init(_ arguments: Arguments) throws(CommandError) {
        storage = try EntryStorage(arguments)
        path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
    }

    func run(_ output: Output) throws {
        // Editing creates a lock file, which must not appear next to a misspelt name.
        _ = try storage.existingEntries()
        try storage.edit { entries in
            guard let path else {
                for key in entries.values.keys { entries[key] = nil }
                return
            }
            guard path.value(in: entries.values) != nil else { throw CommandError.noSuchKey(path.text) }
            try path.update(&entries, of: storage.name) { _ in nil }
        }
    }
}

/// `prefs increment`: adds to an integer in one transaction.
struct IncrementCommand: Command {
    static let name = "increment"
    static let operands = "FILE KEY [BY]"
    static let options = [EntryPath.literalOption]
    static let takesEtcd = true
    static let summary = "Add 1 or BY to an integer, atomically, and print the sum."
    static let details = "A missing key counts from 0. BY may be negative. A sum that is out of range changes nothing."

    private let storage: EntryStorage
    private let path: EntryPath
    private let step: Int128

    init(_ arguments: Arguments) throws(CommandError) {
        let text = arguments.operands.count > 2 ? arguments.operands[2] : "1"
        guard let step = Int128(text), PropertyListInteger(exactly: step) != nil else {
            throw .usage("not a whole number in range: \(text)")
        }
        self.step = step
        storage = try EntryStorage(arguments)
        path = EntryPath(arguments, operand: 1)
    }

    func run(_ output: Output) throws {
        let sum = Lock<PropertyListInteger>(0)
        try storage.edit { entries in
            try path.update(&entries, of: storage.name) { value in
                let newSum = try self.sum(value ?? 0)
                sum.withLock { $0 = newSum }
                return .integer(newSum)
            }
        }
        try output.write(line: sum.withLock { $0 }.description)
    }

    private func sum(_ stored: PropertyListValue) throws(CommandError) -> PropertyListInteger {
        guard case .integer(let integer) = stored, let count = integer.value(as: Int128.self) else {
            throw .failed("\(storage.name): key \(path.text.quoted) cannot be incremented: it is of type \(stored.typeName)")
        }
        guard let sum = PropertyListInteger(exactly: count + step) else {
            throw .failed("\(storage.name): key \(path.text.quoted) cannot be incremented: \(count + step) is out of range")
        }
        return sum
    }
}

/// `prefs rename`: moves a value to another key.
struct RenameCommand: Command {
    static let name = "rename"
    static let operands = "FILE KEY NEWKEY"
    static let options = [EntryPath.literalOption]
    static let takesEtcd = true
    static let summary = "Move the value of KEY to NEWKEY, which must not exist, in one transaction."

    private let storage: EntryStorage
    private let old: EntryPath
    private let new: EntryPath

    init(_ arguments: Arguments) throws(CommandError) {
        storage = try EntryStorage(arguments)
        old = EntryPath(arguments, operand: 1)
        new = EntryPath(arguments, operand: 2)
    }

    func run(_ output: Output) throws {
        _ = try storage.existingEntries()
        try storage.edit { entries in
            guard let value = old.value(in: entries.values) else { throw CommandError.noSuchKey(old.text) }
            guard new.value(in: entries.values) == nil else {
                throw CommandError.failed("\(storage.name): key \(new.text.quoted) exists; delete it first")
            }
            try old.update(&entries, of: storage.name) { _ in nil }
            try new.update(&entries, of: storage.name) { _ in value }
        }
    }
}
