import FoundationSubset
import ObservableStorage

extension Command {
    static let log = Command(
        "log", operands: "FILE [KEY]", options: ["--json", EntryPath.literalOption], etcdOperand: 0,
        summary: "Print who has changed what and when, from the file's journal or the history of etcd, the oldest change first.",
        details: """
            A line has the time, the key, the old and the new value, the writer and the revision. Changes with the same revision are one
            transaction. Times are from the clocks of the writers; etcd stores neither time nor writer. With KEY, which may be a path, only
            changes of its value are printed.
              --json   print objects: {"key","old","new","kind","storageRevision","time","writer"}. old and new are null where nothing is
                       stored; kind is set or removed; time (ISO 8601) and writer are null where they are not known

            The exit status is 4 if there is no journal, or if etcd has compacted its history. prefs watch --since REVISION continues from a
            revision.
            """
    ) { arguments, output in
        guard arguments.operands.count > 1 || !arguments.has("literal") else {
            throw CommandError.usage("\(EntryPath.literalOption) needs a key")
        }
        let storage = try EntryStorage(arguments)
        _ = try storage.existingEntries()
        Prefs.run { try await printLog(of: storage.backend, arguments, output) }
    }

    static func printLog(of storage: any StorageBackend, _ arguments: Arguments, _ output: Output) async throws {
        guard let commits = try await storage.commits(since: nil) else {
            throw CommandError.notRemembered("\(storage.name): \(CommandError.noJournal); prefs watch prints later ones")
        }
        let path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
        for commit in commits {
            for (key, edit) in commit.printedEdits(at: path) {
                try output.write(line: arguments.has("json") ? commit.json(of: edit, key) : commit.text(of: edit, key, for: output))
            }
        }
    }
}

extension StorageCommit {
    /// The edits to print, sorted by key: those of the value at a path, or of all entries.
    fileprivate func printedEdits(at path: EntryPath?) -> [(key: String, value: Edit)] {
        guard let path else {
            return edits.filter { $0.value.oldValue != $0.value.newValue }.sorted { $0.key.precedes($1.key) }
        }
        let (old, new) = (edits.compactMapValues(\.oldValue), edits.compactMapValues(\.newValue))
        let edit = Edit(from: path.value(in: old), to: path.value(in: new))
        return edit.oldValue == edit.newValue ? [] : [(path.text, edit)]
    }

    func json(of edit: Edit, _ key: String) -> String {
        let fields = [
            ("key", key.quoted), ("old", edit.oldValue?.json ?? "null"), ("new", edit.newValue?.json ?? "null"),
            ("kind", (edit.newValue == nil ? "removed" : "set").quoted), ("storageRevision", revision.description.quoted),
            ("time", time?.iso8601.quoted ?? "null"), ("writer", writer?.quoted ?? "null"),
        ]
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    /// The line of an edit for people, such as `2026-11-20T10:00:00Z  volume: 0.3 -> 0.5  (player 4711, revision 5d41402a-17)`.
    func text(of edit: Edit, _ key: String, for output: Output) -> String {
        let before = edit.oldValue?.json ?? output.remark("(none)")
        let now = edit.newValue.map { output.newValue($0.json) } ?? output.removed("(removed)")
        // The name of a program may contain line breaks.
        let source = "(\(writer.map { $0.quoted.dropFirst().dropLast() } ?? "unknown writer"), revision \(revision))"
        let time = output.remark(time?.iso8601 ?? "(unknown time)")
        return "\(time)  \(output.key(key.displayName)): \(before) -> \(now)  \(output.remark(source))"
    }
}
