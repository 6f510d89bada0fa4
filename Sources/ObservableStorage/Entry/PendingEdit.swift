import PropertyListCoding

/// An edit that is in memory only.
struct PendingEdit: Sendable {
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// The stored values from which the edit was derived, and without which it is not written; empty for an edit by user code.
    let condition: EntryEdits
    /// The entry to whose edit this one belongs, if it belongs to another one: for an earlier name that is removed.
    var principal: String?
    /// The paths of the edited values inside the dictionary; empty if the edit concerns all of the entry.
    var paths: [[String]] = []
    /// Distinguishes the edit from an earlier one of the same entry.
    let revision: UInt64

    /// The value to store for an entry in which the edit is made.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)`` if another writer has replaced a dictionary on the path of an edited value.
    func value(of name: String, over stored: PropertyListValue?) throws(StorageError) -> PropertyListValue? {
        var value = paths.isEmpty ? self.value : stored
        for path in paths {
            let leaf = EntryName(own: name, path: path)
            do throws(StorageError) {
                try leaf.replace(leaf.leaf(self.value), in: &value)
            } catch {
                guard case .unencodable(let key, let reason, _) = error else { throw error }
                // Pending edits are identified by their entries.
                throw .unencodable(key: name, reason: "for \"\(key)\": \(reason)")
            }
        }
        return value
    }

    /// Whether the condition of the edit holds for the stored values.
    func isValid(over stored: (String) -> PropertyListValue?) -> Bool {
        condition.allSatisfy { stored($0.key) == $0.value }
    }
}

extension [String: PendingEdit] {
    /// The edits that are stored together with that of an entry, itself included, or not at all; nil without an edit of the entry.
    ///
    /// Setting a renamed key, for example, also removes the entry of its earlier name.
    func group(of key: String) -> [String: PendingEdit]? {
        guard let edit = self[key] else { return nil }
        return filter { $0.value.revision == edit.revision || $0.value.principal == key || $0.key == edit.principal }
    }
}
