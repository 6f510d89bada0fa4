import ObservableStorage
import PropertyListCoding

/// The keys under a prefix as of one revision: the entries, and the revisions that transactions compare.
struct EtcdReplica: Sendable {
    /// The effect of one revision: the differences, nil if no entry has changed, and the errors, both to be reported to stores, and the
    /// attempts of the transactions in the revision, which are the values of their tokens.
    typealias Outcome = (changes: StorageChanges?, attempts: [String], failures: [StorageError])

    private let name: String
    private let keys: EntryKeys
    // Computed once, because each key is compared with them.
    private let historyKey, entriesStart: [UInt8]
    private(set) var view: View
    private(set) var revisions: EntryRevisions
    // The values of the entries until the snapshot is complete.
    private var values: [String: PropertyListValue] = [:]
    // The revision up to which differences were reported to stores.
    private var reportedRevision = StorageRevision(history: "", number: 0)

    /// The state on which an edit is based. It has no table of revisions: an edit that retained it would make the next event copy it.
    struct View: Sendable {
        fileprivate(set) var entries = StorageEntries()
        /// The cluster whose history this is.
        let clusterID: UInt64
        fileprivate(set) var identity: EtcdHistoryIdentity
        /// The revision up to which every event is included.
        fileprivate(set) var revision: Int64
        /// The number of keys that are not reserved, including those that are not entries.
        fileprivate(set) var keyCount = 0

        /// The name of the history in revisions of the storage.
        var history: String { identity.name }
    }

    // MARK: Reading

    /// Begins at a snapshot, whose pages follow.
    ///
    /// - Parameter keyCount: the expected number of keys.
    init(_ clusterID: UInt64, _ revision: Int64, keyCount: Int, _ keys: EntryKeys, named name: String) {
        (self.name, self.keys) = (name, keys)
        (historyKey, entriesStart) = (keys.history, keys.entriesStart)
        view = View(clusterID: clusterID, identity: EtcdHistoryIdentity(clusterID: clusterID), revision: revision)
        // A malformed response may contain any number.
        let capacity = max(0, min(keyCount, 1 << 17))
        revisions = EntryRevisions(keys, capacity: capacity)
        values.reserveCapacity(capacity)
    }

    /// Begins at a complete snapshot; see ``finish(after:avoiding:)``.
    init(
        of snapshot: EtcdSnapshot, _ keys: EntryKeys, named name: String, after earlier: View? = nil,
        avoiding histories: Set<String> = []
    ) {
        self.init(snapshot.clusterID, snapshot.revision, keyCount: snapshot.keyValues.count, keys, named: name)
        add(snapshot.keyValues[...])
        finish(after: earlier, avoiding: histories)
    }

    /// Adds keys that follow those before.
    mutating func add(_ keyValues: ArraySlice<KeyValue>) {
        for keyValue in keyValues {
            updateIdentity(keyValue)
            guard let name = count(keyValue.key, adding: 1), revisions.insert(keyValue, named: name, &values) else { continue }
            values[name] = PropertyListValue(leniently: keyValue.value)
        }
    }

    /// Completes the snapshot.
    ///
    /// - Parameters:
    ///   - earlier: the previous state, whose history the keys may continue.
    ///   - histories: the names of earlier histories.
    mutating func finish(after earlier: View?, avoiding histories: Set<String>) {
        if let earlier, interruption(after: earlier) == nil {
            view.identity.resume(earlier.identity)
        } else {
            view.identity.begin(hasEntries: view.keyCount > 0, avoiding: histories)
        }
        reportedRevision = storageRevision
        view.entries = StorageEntries(values, revision: reportedRevision)
        values = [:]
    }

    private var storageRevision: StorageRevision { StorageRevision(history: view.history, number: UInt64(clamping: view.revision)) }

    // MARK: Following

    /// Applies all events of the next revision that has any.
    mutating func apply(_ events: [WatchEvent], at revision: Int64) -> Outcome {
        var outcome: Outcome = (nil, [], [])
        var values: [String: PropertyListValue?] = [:]
        // Deletions first: a name in another normalization may be stored in the same revision, after existing duplicates.
        for event in events where event.isDelete { delete(event.keyValue, &values) }
        for (name, value) in revisions.promoteDuplicates(at: revision) { values.updateValue(value, forKey: name) }
        let written = events.lazy.filter { !$0.isDelete }.map(\.keyValue)
        for keyValue in written.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) { put(keyValue, &values, &outcome) }
        view.revision = revision
        guard !values.isEmpty else {
            view.entries = view.entries.stored(at: storageRevision)
            return outcome
        }
        view.entries = StorageEntries(view.entries, with: values, revision: storageRevision)
        outcome.changes = changes(to: values)
        return outcome
    }

    private mutating func delete(_ keyValue: KeyValue, _ values: inout [String: PropertyListValue?]) {
        updateIdentity(keyValue, isDelete: true)
        guard let name = count(keyValue.key, adding: -1), revisions.delete(keyValue, named: name) else { return }
        values.updateValue(nil, forKey: name)
    }

    private mutating func put(_ keyValue: KeyValue, _ values: inout [String: PropertyListValue?], _ outcome: inout Outcome) {
        updateIdentity(keyValue)
        if let attempt = keys.attempt(keyValue) { outcome.attempts.append(attempt) }
        guard let name = count(keyValue.key, adding: keyValue.createRevision == keyValue.modRevision ? 1 : 0) else { return }
        guard revisions.put(keyValue, named: name) else { return outcome.failures.append(failure(of: name)) }
        values.updateValue(PropertyListValue(leniently: keyValue.value), forKey: name)
    }

    /// Why the replica does not continue an earlier state; nil if it does.
    func interruption(after earlier: View) -> String? {
        if view.clusterID != earlier.clusterID { return "another cluster serves there now" }
        if view.revision < earlier.revision {
            return "the cluster has gone back from revision \(earlier.revision) to \(view.revision), as after a restoration"
        }
        if earlier.identity.isContinued(by: view.identity, since: earlier.revision) { return nil }
        return "the cluster has other data than before at revision \(earlier.revision), as after a restoration"
    }

    /// Ends the history: no later state continues it.
    mutating func endHistory() {
        view.identity.end()
    }

    /// What the next transaction has to write to identify this history; nil if nothing.
    var historyWrite: EtcdHistoryIdentity.Write? { view.identity.write(to: historyKey) }

    private mutating func updateIdentity(_ keyValue: KeyValue, isDelete: Bool = false) {
        if keyValue.key == historyKey { view.identity.update(from: isDelete ? nil : keyValue) }
    }

    /// The entries with the edits of a transaction whose event has not arrived, except those of entries that were changed after it.
    func entries(with edited: StorageEntries, over base: StorageEntries, storedAt revision: Int64) -> StorageEntries {
        var edits: [String: PropertyListValue?] = [:]
        // An entry that was deleted since has no revision.
        for name in edited.editedKeys where revisions.modRevision(of: name).map({ $0 < revision }) ?? (base[name] == nil) {
            edits.updateValue(edited[name], forKey: name)
        }
        return StorageEntries(view.entries, with: edits, revision: view.entries.revision)
    }

    /// The differences of a later snapshot of the same history from those last reported to stores; nil if there are none.
    mutating func changes(after earlier: EtcdReplica) -> StorageChanges? {
        let values = view.entries.changes(since: earlier.view.entries)
        reportedRevision = earlier.reportedRevision
        return values.isEmpty ? nil : changes(to: values)
    }

    private mutating func changes(to values: [String: PropertyListValue?]) -> StorageChanges {
        defer { reportedRevision = storageRevision }
        return StorageChanges(values, since: reportedRevision, revision: storageRevision)
    }

    /// Counts a key that is not this backend's own, and returns the name of its entry; nil if it has none.
    private mutating func count(_ key: [UInt8], adding number: Int) -> String? {
        // Keys before the range belong to others.
        guard !key.lexicographicallyPrecedes(entriesStart) else { return nil }
        switch keys.meaning(of: key) {
        case .entry(let name):
            view.keyCount += number
            return name
        case .foreign, .reserved:
            view.keyCount += number
            return nil
        }
    }

    var failures: [[UInt8]: StorageError] { revisions.duplicateNames.mapValues { failure(of: $0) } }

    private func failure(of duplicate: String) -> StorageError {
        let reason = "etcd has two keys for \"\(duplicate)\", in different Unicode normalizations; delete one of them"
        return .unreadable(file: name, reason: reason)
    }

    // MARK: Comparing

    /// See ``EntryRevisions/compares(of:read:at:upTo:)``; nil also for entries of another history.
    func compares(
        of names: Set<String>?, read earlier: StorageEntries, upTo maximum: Int = EntryRevisions.maximumCompares
    ) -> [TxnRequest.Compare]? {
        guard earlier.revision?.history == view.history else { return nil }
        return revisions.compares(of: names, read: earlier, at: view.revision, upTo: maximum)
    }
}
