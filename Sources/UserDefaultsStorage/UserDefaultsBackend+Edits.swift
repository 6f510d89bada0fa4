import Foundation
import ObservableStorage

extension UserDefaultsBackend {
    /// A key, the Foundation object that is set for it, and the value as it reads back; the object is nil for a key that is removed.
    typealias Edit = (key: String, object: Any?, value: PropertyListValue?)

    /// The edits that change entries into other ones.
    ///
    /// - Throws: `StorageError.unencodable` for the first value that Foundation cannot represent.
    static func edits(from before: StorageEntries, to after: StorageEntries) throws(StorageError) -> [Edit] {
        let (old, new) = (before.values, after.values)
        var edits: [Edit] = []
        for edited in after.editedKeys.sorted() {
            // A canonically equivalent key with other bytes is the same key here, but another one in Foundation.
            let key = old.index(forKey: edited).map { old[$0].key } ?? edited
            if let value = new[key] {
                let (object, held) = try object(value, key: key)
                edits.append((key, object, held))
            } else {
                edits.append((key, nil, nil))
            }
        }
        return edits
    }

    /// Reverts edits, and stores every entry again: a failed write may have emptied the file.
    func revert(_ edits: [Edit], to before: [String: PropertyListValue]) {
        for edit in edits where before[edit.key] == nil { set(nil, for: edit.key) }
        for (key, value) in before { set(value.foundation, for: key) }
    }

    /// The object to set for a value, and the value as it reads back.
    static func object(_ value: PropertyListValue, key: String) throws(StorageError) -> (object: Any, value: PropertyListValue) {
        guard let object = value.foundation else {
            throw .unencodable(key: key, reason: "UserDefaults cannot hold the UIDs of archives")
        }
        do {
            // Foundation writes some text as unreadable XML, which this library's writer rejects.
            _ = try PropertyListValue.dictionary([key: value]).encoded(as: format)
            let bytes = try PropertyListSerialization.data(fromPropertyList: [key: object], format: format.foundation, options: 0)
            let read = try PropertyListSerialization.propertyList(from: bytes, options: [], format: nil)
            let held = PropertyListValue(foundation: object)?.rounded(for: format)
            if let held, PropertyListValue(foundation: read) == .dictionary([key: held]), let object = held.foundation {
                return (object, held)
            }
        } catch {
            throw .unencodable(key: key, reason: "UserDefaults cannot hold it: \(error)")
        }
        throw .unencodable(key: key, reason: "UserDefaults would not give it back as it is")
    }
}

extension PropertyListFormat {
    fileprivate var foundation: PropertyListSerialization.PropertyListFormat { self == .xml ? .xml : .binary }
}
