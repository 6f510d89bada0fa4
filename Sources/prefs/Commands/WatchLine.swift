import ObservableStorage
import PropertyListCoding

/// A line that `prefs watch` prints: a change, or the current value of a key.
struct WatchLine: Equatable {
    let key: String
    var old: PropertyListValue?
    let new: PropertyListValue?
    /// The origin of the change, or nil for a current value.
    var origin: String?
    let revision: UInt64
}

extension WatchLine {
    /// Describes a change.
    init(_ change: Change<PropertyListValue?>) {
        self.init(
            key: change.key, old: change.oldValue, new: change.newValue, origin: String(describing: change.origin),
            revision: change.revision)
    }

    private var kind: String {
        origin == nil ? "initial" : new == nil ? "removed" : "set"
    }

    /// The line as a JSON object.
    var json: String {
        let fields = [
            ("key", JSONWriter.quoted(key)), ("old", Self.json(old)), ("new", Self.json(new)), ("kind", JSONWriter.quoted(kind)),
            ("origin", origin.map(JSONWriter.quoted) ?? "null"), ("revision", String(revision)),
        ]
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    private static func json(_ value: PropertyListValue?) -> String {
        value.map(JSONWriter.text(of:)) ?? "null"
    }

    /// The line as text for people, such as `volume: 0.3 -> 0.5  (external, revision 7)`.
    func text(style: Style) -> String {
        let none = style.remark("(none)")
        let before = origin == nil ? "" : "\(old.map(JSONWriter.text(of:)) ?? none) -> "
        let now = new.map { style.newValue(JSONWriter.text(of: $0)) } ?? (origin == nil ? none : style.removed("(removed)"))
        return "\(style.key(displayName)): \(before)\(now)  \(style.remark("(\(origin ?? kind), revision \(revision))"))"
    }

    /// The key, in quotes if it could be misread without them.
    private var displayName: String {
        let isPlain = key.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_./$".unicodeScalars.contains($0)
        }
        return isPlain && !key.isEmpty ? key : JSONWriter.quoted(key)
    }
}
