import FoundationSubset
import ObservableStorage

extension Command {
    static let delete = Command(
        "delete", operands: "FILE [KEY]", options: [EntryPath.literalOption], etcdOperand: 0,
        summary: "Remove one key, or all of them; the file is kept."
    ) { arguments, _ in
        let storage = try EntryStorage(arguments)
        let path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
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

    static let increment = Command(
        "increment", operands: "FILE KEY [BY]", options: [EntryPath.literalOption], etcdOperand: 0,
        summary: "Add 1 or BY to an integer, atomically, and print the sum.",
        details: "A missing key counts from 0. BY may be negative. A sum that is out of range changes nothing."
    ) { arguments, output in
        let text = arguments.operands.count > 2 ? arguments.operands[2] : "1"
        guard let step = Int128(text), PropertyListInteger(exactly: step) != nil else {
            throw CommandError.usage("not a whole number in range: \(text)")
        }
        let storage = try EntryStorage(arguments)
        let path = EntryPath(arguments, operand: 1)
        @Sendable func refused(_ reason: String) -> CommandError {
            .failed("\(storage.name): key \(path.text.quoted) cannot be incremented: \(reason)")
        }
        let result = Lock<PropertyListInteger>(0)
        try storage.edit { entries in
            try path.update(&entries, of: storage.name) { value in
                let stored = value ?? 0
                guard case .integer(let integer) = stored, let count = integer.value(as: Int128.self) else {
                    throw refused("it is of type \(stored.typeName)")
                }
                guard let sum = PropertyListInteger(exactly: count + step) else { throw refused("\(count + step) is out of range") }
                result.withLock { $0 = sum }
                return .integer(sum)
            }
        }
        try output.write(line: result.withLock { $0 }.description)
    }

    static let rename = Command(
        "rename", operands: "FILE KEY NEWKEY", options: [EntryPath.literalOption], etcdOperand: 0,
        summary: "Move the value of KEY to NEWKEY, which must not exist, in one transaction."
    ) { arguments, _ in
        let storage = try EntryStorage(arguments)
        let (old, new) = (EntryPath(arguments, operand: 1), EntryPath(arguments, operand: 2))
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
