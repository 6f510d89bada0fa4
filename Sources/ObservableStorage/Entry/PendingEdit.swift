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
    /// The pending edits that a storage has refused, and the error to report; nil if the error concerns none of them.
    ///
    /// Setting a renamed key, for example, also removes the entry of its earlier name: with the new value, the removal is refused as well,
    /// although a later edit of the key may have made it a separate step.
    ///
    /// - Parameter commit: those of the edits that were refused with the error. If it names none of them, they cannot be divided.
    func refused(_ commit: Self, because error: StorageError) -> (edits: Self, error: StorageError)? {
        var (step, error) = (commit, error)
        switch error {
        case .unencodable(let key, _, _), .tooLarge(let key?, _):
            guard let edit = commit[key] else { return nil }
            let revisions = [edit.revision, edit.principal.flatMap { self[$0]?.revision }]
            step = filter { revisions.contains($0.value.revision) }
        case .tooLarge(nil, let reason) where !commit.isEmpty:
            let names = commit.filter { $0.value.principal.map { commit[$0] == nil } ?? true }.keys.sorted()
            let isOne = names.count == 1
            let others = names.count > 10 ? " and \(names.count - 10) others" : ""
            let list = names.prefix(10).joined(separator: ", ") + others
            error = .tooLarge(key: isOne ? names[0] : nil, reason: isOne ? reason : "\(list): \(reason)")
        default: return nil
        }
        return (filter { step[$0.key] != nil || $0.value.principal.map { step[$0] != nil } == true }, error)
    }
}
