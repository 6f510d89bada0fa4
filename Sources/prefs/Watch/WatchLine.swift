import ObservableStorage

/// A line that `prefs watch` prints: a change, or the current value of a key.
struct WatchLine: Equatable {
    var key: String
    var old: PropertyListValue?
    var new: PropertyListValue?
    /// The origin of the change, or nil for a current value.
    var origin: String?
    /// The number of the transaction with the change, since the start.
    let revision: UInt64
    /// The revision of the file with the change, or with a current value; nil if the file has no revisions.
    var storageRevision: StorageRevision?
}

extension WatchLine {
    init(_ change: Change<PropertyListValue?>) {
        self.init(
            key: change.key, old: change.oldValue, new: change.newValue, origin: String(describing: change.origin),
            revision: change.revision, storageRevision: change.storageRevision)
    }

    private var kind: String { origin == nil ? "initial" : new == nil ? "removed" : "set" }

    var json: String {
        let fields = [
            ("key", key.quoted), ("old", old?.json ?? "null"), ("new", new?.json ?? "null"), ("kind", kind.quoted),
            ("origin", origin.map(\.quoted) ?? "null"), ("revision", String(revision)),
            ("storageRevision", storageRevision?.description.quoted ?? "null"),
        ]
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    /// The line as text for people, such as `volume: 0.3 -> 0.5  (external, revision 7)`, with the file's revision if it has one.
    func text(for output: Output) -> String {
        let revision = storageRevision?.description ?? String(revision)
        let none = output.remark("(none)")
        let before = origin == nil ? "" : "\(old.map(\.json) ?? none) -> "
        let now = new.map { output.newValue($0.json) } ?? (origin == nil ? none : output.removed("(removed)"))
        return "\(output.key(key.displayName)): \(before)\(now)  \(output.remark("(\(origin ?? kind), revision \(revision))"))"
    }
}
