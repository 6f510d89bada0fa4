import Observation
package import PropertyListCoding
import Synchronization

/// Edits by the name of the entry: the value that is set, nil for a removal.
package typealias EntryEdits = [String: PropertyListValue?]

/// The paths of the edited values inside an entry's dictionary, by the name of the entry; none for an edit of the whole entry.
typealias EditedPaths = [String: [[String]]]

/// The entry of a name in a store: its value, the edit that is not on disk yet, the cached readings, and the observers.
///
/// A store has one for each name that has been read, written or observed. Keys cache its index in the table, and the readings made
/// from it.
final class Entry: Observable, @unchecked Sendable {
    // Sendable because `content` is used only while the lock of the entry's store is held; everything else is constant, atomic or locked.

    /// Identifies this entry among all that the process has created, including others of the same name.
    let id = uniqueNumber()
    let name: String
    /// The cache of the store to which the entry belongs; see ``EntryCache/id``.
    let store: UInt64
    /// Used only while the store's lock is held, which ensures exclusivity: checks at run time take a tenth of the time of a write.
    @exclusivity(unchecked) var content: Content

    private let changes = Atomic<UInt64>(0)
    /// The caches of the keys that have read the entry.
    let caches = Lock<(known: [ReadingCache], sweepThreshold: Int)>(([], 4))
    // An owned `Tracking`; nil until the entry is first read for Observation, because it would take a third of the memory of an entry. Not an
    // `AtomicLazyReference`, which retains: reading through `@Persisted` would take 50 ns instead of 7.
    let tracking = Atomic<UnsafeRawPointer?>(nil)

    init(_ name: String, store: UInt64, value: PropertyListValue? = nil) {
        self.name = name
        self.store = store
        content = Content(value: value)
    }

    deinit {
        if let tracking = tracking.load(ordering: .acquiring) { Unmanaged<Tracking>.fromOpaque(tracking).release() }
    }

    /// Whether the entry has neither an edit that is not on disk yet, nor observers, nor earlier values that a reader may need.
    var isIdle: Bool {
        content.pendingRevision == 0 && content.observers.isEmpty && content.history.isDispensable && !isTracked
    }

    /// Whether the entry has no state to keep.
    var isVacant: Bool {
        content.value == nil && content.pendingRevision == 0 && content.observers.isEmpty && !isTracked
    }

    /// The number of changes to the result of reading the entry. A reading made at a version is valid while the version is the same.
    var version: UInt64 {
        changes.load(ordering: .sequentiallyConsistent)
    }

    /// Counts a change. Called where the order of changes is determined.
    func countChange() {
        changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    /// Replaces the value; returns false if it is the same.
    ///
    /// - Parameters:
    ///   - replaced: the new value, nil for none; afterwards the previous one.
    ///   - revision: the revision in which the value is set.
    ///   - isEdit: whether it is set by an edit, which is pending.
    ///   - type: the type of a key that sets the value without user code in its codec.
    ///   - condition: the values that must still be stored when the edit is written.
    ///   - principal: the entry to whose edit this one belongs, if it belongs to another one.
    ///   - paths: the paths of the edited values inside the dictionary, if the edit does not concern all of it.
    ///   - isUnread: whether the storage may have a value that is not known, which a removal removes as well.
    func exchange(
        _ replaced: inout Replaced, in revision: UInt64, isEdit: Bool, type: ObjectIdentifier? = nil, condition: EntryEdits? = nil,
        principal: String? = nil, paths: [[String]]? = nil, isUnread: Bool = false
    ) -> Bool {
        guard !isEqual(content.value, replaced.value) else {
            if isUnread, isEdit, replaced.value == nil || paths != nil, !content.isPendingWhole {
                content.setPending(revision, condition: condition, principal: principal, paths: paths)
                return true
            }
            // A value that was derived from another one no longer depends on it once it is set explicitly.
            if isEdit, condition == nil, content.pendingRevision != 0 { content.condition = nil }
            return false
        }
        swap(&content.value, &replaced.value)
        if !content.history.isEmpty { replaced.history = Box(content.history) }
        content.history.replaced(replaced.value, by: content.value, isEdit: isEdit, type: type, revision: revision)
        if isEdit { content.setPending(revision, condition: condition, principal: principal, paths: paths) }
        countChange()
        return true
    }

    /// Replaces a value inside the dictionary, in place if the dictionary is not shared; returns false if it is the same.
    ///
    /// - Parameters:
    ///   - replaced: the new value, nil for none; afterwards the previous one.
    ///   - name: the path of the value.
    ///   - revision: the revision of the edit, which is pending.
    ///   - isUnread: whether the storage may have a value that is not known, which a removal removes as well.
    func exchange(
        _ replaced: inout Replaced, at name: EntryName, in revision: UInt64, isUnread: Bool = false
    ) throws(StorageError) -> Bool {
        let old = name.leaf(content.value)
        guard old != replaced.value else {
            if isUnread, old == nil, !content.isPendingWhole {
                content.setPending(revision, paths: [name.path])
                return true
            }
            if content.pendingRevision != 0 { content.condition = nil }
            return false
        }
        let isKept = content.history.keepsValue(content.value, editedAt: name.path)
        // While it is kept, the edit copies the dictionary.
        let whole = isKept ? content.value : nil
        try name.replace(replaced.value, in: &content.value)
        if !content.history.isEmpty { replaced.history = Box(content.history) }
        if isKept {
            content.history.replaced(whole, by: content.value, at: name.path, isEdit: true, type: nil, revision: revision)
        } else {
            content.history.recordEdit(of: old, at: name.path, in: content.value, revision: revision)
        }
        content.setPending(revision, paths: [name.path])
        countChange()
        replaced.value = old
        return true
    }
}

// `==` of optionals copies both, and exchanging them after it copies both again: with what avoids such copies in `EntryCache.edit`,
// write.key is 1.8 instead of 2.8.
@inline(__always)
private func isEqual(_ left: borrowing PropertyListValue?, _ right: borrowing PropertyListValue?) -> Bool {
    switch left {
    case let left?:
        switch right {
        case let right?: left == right
        case nil: false
        }
    case nil:
        switch right {
        case _?: false
        case nil: true
        }
    }
}

extension Entry {
    /// The new value of an entry, afterwards the previous one, with the values before that, if there are any. Swapped, because copying took
    /// half of the time of a write. Released outside locks, also if nobody needs them: the history may have dropped them.
    typealias Replaced = (value: PropertyListValue?, history: Box<EntryHistory>?)

    /// The state protected by the store's lock.
    struct Content {
        fileprivate(set) var value: PropertyListValue?
        var history = EntryHistory()
        /// The observers of the entry, including those of another one that falls back to this one; one for each key.
        var observers: [any EntryObservers] = []
        /// Distinguishes the pending edit from an earlier one; 0 if there is none.
        fileprivate(set) var pendingRevision: UInt64 = 0
        // Nil for an edit by user code.
        fileprivate var condition: EntryEdits?
        fileprivate var principal: String?
        // Nil for an edit of the whole entry.
        fileprivate var paths: [[String]]?
        // How many of them commits have begun to store, and how many were left after repeated ones were removed.
        private var (begunPaths, distinctPaths) = (0, 0)

        init(value: PropertyListValue? = nil) {
            self.value = value
        }

        var pending: PendingEdit? {
            pendingRevision == 0
                ? nil
                : PendingEdit(
                    value: value, condition: condition ?? [:], principal: principal, paths: paths ?? [], revision: pendingRevision)
        }

        var isPendingWhole: Bool {
            pendingRevision != 0 && paths == nil
        }

        mutating func setPending(
            _ revision: UInt64, condition: EntryEdits? = nil, principal: String? = nil, paths added: [[String]]?
        ) {
            // An edit of some values after one of the whole entry is one of the whole entry.
            if let added, !isPendingWhole {
                let count = (paths?.count ?? 0) + added.count
                if paths == nil { (paths, begunPaths, distinctPaths) = (added, 0, 0) } else { paths?.append(contentsOf: added) }
                // Each time the number has doubled, as for a value that is edited again and again.
                if count > 64, count > 2 * distinctPaths { removeRepeatedPaths() }
            } else if paths != nil {
                paths = nil
            }
            pendingRevision = revision
            if condition != nil || self.condition != nil { self.condition = condition }
            if principal != nil || self.principal != nil { self.principal = principal }
        }

        /// Records that a commit begins to store the edit: what is edited from now on follows it.
        ///
        /// - Parameter isFirst: whether no earlier commit may have stored a part of the edit, which then is its beginning.
        mutating func beginCommit(isFirst: Bool) {
            if isFirst { begunPaths = 0 }
            removeRepeatedPaths()
            begunPaths = paths?.count ?? 0
        }

        private mutating func removeRepeatedPaths() {
            guard let paths, paths.count > begunPaths + 1 else { return }
            var found: Set<[String]> = []
            self.paths = paths[..<begunPaths] + paths[begunPaths...].filter { found.insert($0).inserted }
            distinctPaths = self.paths?.count ?? 0
        }

        /// Removes an edit that is now on disk, unless the entry has been edited again; later edits inside its dictionary remain pending.
        ///
        /// - Parameter isStored: whether it was stored; false if its condition did not hold.
        mutating func markWritten(_ edit: PendingEdit, isStored: Bool) {
            guard pendingRevision == edit.revision else {
                if let paths, !edit.paths.isEmpty, paths.count > edit.paths.count, paths.starts(with: edit.paths) {
                    (self.paths, begunPaths, distinctPaths) = (Array(paths.dropFirst(edit.paths.count)), 0, 0)
                }
                return
            }
            // The value was set explicitly meanwhile, without the condition.
            if !isStored, condition == nil { return }
            (pendingRevision, condition, principal, paths) = (0, nil, nil, nil)
        }

        /// Updates the condition of an edit that was derived from values while these were being stored.
        mutating func expect(_ stored: EntryEdits) {
            guard let expected = condition else { return }
            for name in expected.keys {
                if let value = stored[name] { condition?.updateValue(value, forKey: name) }
            }
        }
    }
}

extension Entry: CustomReflectable {
    /// The name, without values: an entry may be a secret.
    var customMirror: Mirror {
        Mirror(self, children: ["name": name])
    }
}
