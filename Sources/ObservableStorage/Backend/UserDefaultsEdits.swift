import Foundation
import PropertyListCoding

/// Edits of a domain as objects of Foundation, each of which has been seen to read back as it is.
struct UserDefaultsEdits {
    /// What is stored once the edits are applied.
    let outcome: [String: PropertyListValue]
    private let before: [String: PropertyListValue]
    private let edits: [(key: String, object: Any?)]

    /// Makes the edits that lead from entries to other ones.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)`` for the first value that Foundation cannot hold.
    init(from before: StorageEntries, to after: StorageEntries) throws(StorageError) {
        let (old, new) = (before.values, after.values)
        var outcome = new
        var edits: [(key: String, object: Any?)] = []
        for edited in after.editedKeys.sorted() {
            // A key that is spelled with other bytes is the same one here, but another one in Foundation.
            let key = old.index(forKey: edited).map { old[$0].key } ?? edited
            let held = try new[key].map { value throws(StorageError) in try Self.object(value, key: key) }
            outcome[key] = held?.value
            edits.append((key, held?.object))
        }
        self.before = old
        self.outcome = outcome
        self.edits = edits
    }

    /// Makes the edits.
    func apply(to defaults: UserDefaults) {
        for edit in edits { Self.set(edit.object, for: edit.key, in: defaults) }
    }

    /// Takes the edits back, and has every entry stored again: a write that failed may have emptied the file.
    func revert(in defaults: UserDefaults) {
        for edit in edits where before[edit.key] == nil { defaults.removeObject(forKey: edit.key) }
        for (key, value) in before { Self.set(value.foundation, for: key, in: defaults) }
    }

    private static func set(_ object: Any?, for key: String, in defaults: UserDefaults) {
        // Foundation on Linux keeps the number 1 where true or 1.0 is set, since they are equal to it.
        defaults.removeObject(forKey: key)
        if let object { defaults.set(object, forKey: key) }
    }

    /// The object to set for a value, and the value as it reads back.
    private static func object(_ value: PropertyListValue, key: String) throws(StorageError) -> (object: Any, value: PropertyListValue) {
        guard let object = value.foundation else {
            throw .unencodable(key: key, reason: "UserDefaults cannot hold the UIDs of archives")
        }
        do {
            // Foundation writes some text as XML that no one else can read: this library's writer knows it.
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
    fileprivate var foundation: PropertyListSerialization.PropertyListFormat {
        self == .xml ? .xml : .binary
    }
}
