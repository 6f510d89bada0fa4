import ObservableStorage
import PropertyListCoding

/// A line that `prefs watch` prints.
struct WatchLine: Equatable {
    enum Kind: String {
        case initial, set, removed
    }

    let key: String
    var old: PropertyListValue?
    let new: PropertyListValue?
    let kind: Kind
    /// Who made the change; nothing for a value that was there before.
    var origin: String?
    let revision: UInt64
}

extension WatchLine {
    /// Tells a change.
    init(_ change: Change<PropertyListValue?>) {
        self.init(
            key: change.key, old: change.oldValue, new: change.newValue, kind: change.newValue == nil ? .removed : .set,
            origin: String(describing: change.origin), revision: change.revision)
    }

    /// The line as a JSON object.
    var json: String {
        let fields = [
            ("key", JSONText.quoted(key)), ("old", Self.json(old)), ("new", Self.json(new)), ("kind", JSONText.quoted(kind.rawValue)),
            ("origin", origin.map(JSONText.quoted) ?? "null"), ("revision", String(revision)),
        ]
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    /// The line for a person, such as `volume: 0.3 -> 0.5  (external, revision 7)`.
    func text(style: Style) -> String {
        let now =
            switch (kind, new) {
            case (.removed, _): style.removed("(removed)")
            case (_, let new?): style.newValue(JSONText.text(of: new))
            case (_, nil): style.remark("(none)")
            }
        let before = kind == .initial ? "" : "\(old.map(JSONText.text(of:)) ?? style.remark("(none)")) -> "
        let remark = style.remark("(\(origin ?? kind.rawValue), revision \(revision))")
        return "\(style.key(name)): \(before)\(now)  \(remark)"
    }

    /// The key bare, unless that could be misread.
    private var name: String {
        let isPlain = key.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_./$".unicodeScalars.contains($0)
        }
        return isPlain && !key.isEmpty ? key : JSONText.quoted(key)
    }

    private static func json(_ value: PropertyListValue?) -> String {
        value.map(JSONText.text(of:)) ?? "null"
    }
}
