import FoundationSubset
import ObservableStorage
import PropertyListCoding

extension Command {
    /// Prints the changes in a file's journal, or in the history of etcd.
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

    /// Prints the commits of a storage.
    static func printLog(of storage: any StorageBackend, _ arguments: Arguments, _ output: Output) async throws {
        guard let commits = try await storage.commits(since: nil) else {
            throw CommandError.notRemembered("\(storage.name): \(CommandError.noJournal); prefs watch prints later ones")
        }
        let path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
        for line in commits.flatMap({ lines($0, at: path) }) {
            try output.write(line: arguments.has("json") ? line.json : line.text(for: output))
        }
    }

    /// The lines for the changes of a commit that are to be printed, sorted by key.
    private static func lines(_ commit: StorageCommit, at path: EntryPath?) -> [LogLine] {
        let edits: [(key: String, old: PropertyListValue?, new: PropertyListValue?)]
        if let path {
            let (old, new) = (commit.edits.compactMapValues(\.oldValue), commit.edits.compactMapValues(\.newValue))
            edits = [(path.text, path.value(in: old), path.value(in: new))]
        } else {
            edits = commit.edits.sorted { $0.key.precedes($1.key) }.map { ($0.key, $0.value.oldValue, $0.value.newValue) }
        }
        return edits.filter { $0.old != $0.new }.map { edit in
            LogLine(key: edit.key, old: edit.old, new: edit.new, revision: commit.revision, time: commit.time, writer: commit.writer)
        }
    }
}

/// A line that `prefs log` prints.
struct LogLine: Equatable {
    let key: String
    let old: PropertyListValue?
    let new: PropertyListValue?
    let revision: StorageRevision
    let time: Date?
    let writer: String?

    /// The line as a JSON object.
    var json: String {
        let fields = [
            ("key", key.quoted), ("old", old?.json ?? "null"), ("new", new?.json ?? "null"),
            ("kind", (new == nil ? "removed" : "set").quoted), ("storageRevision", revision.description.quoted),
            ("time", time?.iso8601.quoted ?? "null"), ("writer", writer?.quoted ?? "null"),
        ]
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    /// The line as text for people, such as `2026-11-20T10:00:00Z  volume: 0.3 -> 0.5  (player 4711, revision 5d41402a-17)`.
    func text(for output: Output) -> String {
        let before = old?.json ?? output.remark("(none)")
        let now = new.map { output.newValue($0.json) } ?? output.removed("(removed)")
        // The name of a program may contain line breaks.
        let source = "(\(writer.map { $0.quoted.dropFirst().dropLast() } ?? "unknown writer"), revision \(revision))"
        let time = output.remark(time?.iso8601 ?? "(unknown time)")
        return "\(time)  \(output.key(key.displayName)): \(before) -> \(now)  \(output.remark(source))"
    }
}
