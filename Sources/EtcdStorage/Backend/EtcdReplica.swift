import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// What is known of the keys under a prefix, as of one revision: the entries, and what a transaction compares.
struct EtcdReplica: Sendable {
    /// The effect of one revision.
    struct Outcome: Sendable {
        /// The differences, to be reported to stores; nil if no entry has changed.
        var changes: StorageChanges?
        /// The attempts of transactions that the revision contains, by the values of their tokens.
        var attempts: [String] = []
        /// What people should know.
        var failures: [StorageError] = []
    }

    // More comparisons than these are replaced by one of the whole range.
    static let mostCompares = 100

    private let name: String
    private let keys: EntryKeys
    private let historyKey: [UInt8]
    /// The cluster whose history this is.
    let clusterID: UInt64
    /// What identifies the history.
    private(set) var identity: EtcdHistoryIdentity
    /// The revision up to which every event is included.
    private(set) var revision: Int64
    /// The entries at that revision.
    private(set) var entries: StorageEntries
    /// The number of keys that are not reserved, those included that are no entries.
    private(set) var keyCount = 0
    // The revisions of each entry. Its name has the bytes of its key, which are not those of every equal string.
    private var revisions: [String: Revisions] = [:]
    // The keys that are no entries, because one with an equal name was created before: so everybody has the same entries.
    private var refused: [[UInt8]: Refused] = [:]
    // The revisions since which entries are those of keys that were refused before, and that have not been written since.
    private var admitted: [String: Int64] = [:]
    // Up to where stores were told differences.
    private var told: StorageRevision

    private struct Revisions: Sendable {
        /// The revision in which the key was created, and the one in which it was written last.
        let created, modified: Int64

        init(_ keyValue: KeyValue) {
            (created, modified) = (keyValue.createRevision, keyValue.modRevision)
        }
    }

    private struct Refused: Sendable {
        let name: String
        let revisions: Revisions
        let value: PropertyListValue
    }

    /// What an edit is made on, without what it is compared with: an edit that holds that would have it copied by the next event.
    struct View: Sendable {
        /// The entries at the revision.
        let entries: StorageEntries
        /// The cluster.
        let clusterID: UInt64
        /// What identifies the history.
        let identity: EtcdHistoryIdentity
        /// The revision of etcd.
        let revision: Int64
        /// The number of keys that are not reserved.
        let keyCount: Int

        /// Identifies the history in revisions of the storage.
        var history: String { identity.name }
    }

    /// What an edit is made on.
    var view: View { View(entries: entries, clusterID: clusterID, identity: identity, revision: revision, keyCount: keyCount) }

    /// Identifies the history in revisions of the storage.
    var history: String { identity.name }

    /// Begins at a snapshot.
    ///
    /// - Parameters:
    ///   - name: the name of the storage in errors.
    ///   - earlier: what was known before, whose history the snapshot may continue.
    ///   - histories: the names of earlier histories.
    init(
        of snapshot: EtcdSnapshot, _ keys: EntryKeys, named name: String, after earlier: View? = nil,
        besides histories: Set<String> = []
    ) {
        var builder = Builder(snapshot.clusterID, snapshot.revision, keyCount: snapshot.keyValues.count, keys, named: name)
        builder.add(snapshot.keyValues)
        self = builder.replica(after: earlier, besides: histories)
    }

    private init(_ clusterID: UInt64, _ revision: Int64, _ keys: EntryKeys, named name: String) {
        (self.name, self.keys, historyKey, self.clusterID, self.revision) = (name, keys, keys.history, clusterID, revision)
        identity = EtcdHistoryIdentity(clusterID: clusterID)
        told = StorageRevision(history: "", number: 0)
        entries = StorageEntries()
    }

    /// Collects the keys of a snapshot page by page.
    struct Builder: Sendable {
        private var replica: EtcdReplica
        private var values: [String: PropertyListValue] = [:]

        /// Begins without keys, of which the given number is expected.
        init(_ clusterID: UInt64, _ revision: Int64, keyCount: Int, _ keys: EntryKeys, named name: String) {
            replica = EtcdReplica(clusterID, revision, keys, named: name)
            // A damaged answer may tell any number.
            let capacity = max(0, min(keyCount, 1 << 17))
            values.reserveCapacity(capacity)
            replica.revisions.reserveCapacity(capacity)
        }

        /// Whether these are the keys of a snapshot, if all of its pages were added.
        func isOf(_ snapshot: EtcdSnapshot) -> Bool {
            replica.clusterID == snapshot.clusterID && replica.revision == snapshot.revision
        }

        /// Adds keys that follow those before.
        mutating func add(_ keyValues: [KeyValue]) {
            for keyValue in keyValues {
                replica.noteHistory(keyValue)
                guard let name = replica.count(keyValue.key, adding: 1),
                    replica.isEntry(keyValue, named: name) || replica.refuse(ifLaterThan: keyValue, named: name, &values)
                else { continue }
                replica.revisions[name] = Revisions(keyValue)
                values[name] = EtcdReplica.value(keyValue.value, of: name)
            }
        }

        /// What is known of the keys.
        ///
        /// - Parameters:
        ///   - earlier: what was known before, whose history they may continue.
        ///   - histories: the names of earlier histories.
        func replica(after earlier: View?, besides histories: Set<String>) -> EtcdReplica {
            var replica = replica
            if let earlier, replica.interruption(after: earlier) == nil {
                replica.identity.resume(earlier.identity)
            } else {
                replica.identity.begin(hasEntries: replica.keyCount > 0, besides: histories)
            }
            replica.told = replica.storageRevision
            replica.entries = StorageEntries(values, revision: replica.told)
            return replica
        }
    }

    /// The present revision of the storage.
    private var storageRevision: StorageRevision { StorageRevision(history: history, number: UInt64(clamping: revision)) }

    // MARK: Following

    /// Includes all events of the next revision with any.
    mutating func apply(_ events: [WatchEvent], at revision: Int64) -> Outcome {
        var outcome = Outcome()
        var values: [String: PropertyListValue?] = [:]
        // Deletions first: a name in another normalization may be stored in the same revision, after those that were refused before.
        for event in events where event.isDelete { delete(event.keyValue, &values) }
        admitRefused(&values, at: revision)
        let written = events.lazy.filter { !$0.isDelete }.map(\.keyValue)
        for keyValue in written.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) { put(keyValue, &values, &outcome) }
        self.revision = revision
        guard !values.isEmpty else {
            entries = entries.stored(at: storageRevision)
            return outcome
        }
        entries = StorageEntries(entries, with: values, revision: storageRevision)
        outcome.changes = tell(values)
        return outcome
    }

    private mutating func delete(_ keyValue: KeyValue, _ values: inout [String: PropertyListValue?]) {
        noteHistory(keyValue, isDelete: true)
        guard let name = count(keyValue.key, adding: -1), refused.removeValue(forKey: keyValue.key) == nil else { return }
        // Otherwise it was never told.
        guard revisions.index(forKey: name).map({ revisions.keys[$0].utf8.elementsEqual(name.utf8) }) ?? true else { return }
        (admitted[name], revisions[name]) = (nil, nil)
        values.updateValue(nil, forKey: name)
    }

    private mutating func put(_ keyValue: KeyValue, _ values: inout [String: PropertyListValue?], _ outcome: inout Outcome) {
        noteHistory(keyValue)
        if let attempt = keys.attempt(keyValue) { outcome.attempts.append(attempt) }
        guard let name = count(keyValue.key, adding: keyValue.createRevision == keyValue.modRevision ? 1 : 0) else { return }
        guard isEntry(keyValue, named: name) else { return outcome.failures.append(failure(of: name)) }
        admitted[name] = nil
        revisions[name] = Revisions(keyValue)
        values.updateValue(Self.value(keyValue.value, of: name), forKey: name)
    }

    /// Why what was read does not continue what was known before; nil if it does.
    func interruption(after earlier: View) -> String? {
        if clusterID != earlier.clusterID { return "another cluster serves there now" }
        if revision < earlier.revision {
            return "the cluster has gone back from revision \(earlier.revision) to \(revision), as after a restoration"
        }
        if earlier.identity.isContinued(by: identity, since: earlier.revision) { return nil }
        return "the cluster has other data than before at revision \(earlier.revision), as after a restoration"
    }

    /// What the next transaction has to write to tell this history from others; nil if nothing.
    var historyWrite: EtcdHistoryIdentity.Write? { identity.write(to: historyKey) }

    private mutating func noteHistory(_ keyValue: KeyValue, isDelete: Bool = false) {
        if keyValue.key == historyKey { identity.note(isDelete ? nil : keyValue) }
    }

    /// The entries with the edits of a transaction whose event has not come, except those of which something newer is known.
    ///
    /// - Parameters:
    ///   - edited: the entries that it has stored.
    ///   - base: the entries that were edited.
    ///   - revision: the revision of the transaction.
    func entries(with edited: StorageEntries, over base: StorageEntries, storedAt revision: Int64) -> StorageEntries {
        var edits: [String: PropertyListValue?] = [:]
        // What has been deleted since has no revision any more.
        for name in edited.editedKeys where revisions[name].map({ $0.modified < revision }) ?? (base[name] == nil) {
            edits.updateValue(edited[name], forKey: name)
        }
        return StorageEntries(entries, with: edits, revision: entries.revision)
    }

    /// The differences of a later snapshot of the same history, which continue what stores were told; nil if there are none.
    mutating func changes(after earlier: EtcdReplica) -> StorageChanges? {
        let values = entries.changes(since: earlier.entries)
        told = earlier.told
        return values.isEmpty ? nil : tell(values)
    }

    private mutating func tell(_ values: [String: PropertyListValue?]) -> StorageChanges {
        defer { told = storageRevision }
        return StorageChanges(values, since: told, revision: storageRevision)
    }

    /// Counts a key that is not reserved; returns the name of its entry, or nil if it is none.
    private mutating func count(_ key: [UInt8], adding number: Int) -> String? {
        // Nothing of the store is outside of that range.
        guard !key.lexicographicallyPrecedes(keys.entriesStart) else { return nil }
        switch keys.meaning(of: key) {
        case .entry(let name):
            keyCount += number
            return name
        case .foreign:
            keyCount += number
            return nil
        case .reserved: return nil
        }
    }

    /// Whether a key is that of the entry with its name, and not of an equal name in other bytes, which is refused.
    private mutating func isEntry(_ keyValue: KeyValue, named name: String) -> Bool {
        let known = revisions.index(forKey: name).map { revisions.keys[$0] }
        let isRefused = known.map { !$0.utf8.elementsEqual(name.utf8) } ?? false
        if isRefused {
            refused[keyValue.key] = Refused(
                name: name, revisions: Revisions(keyValue), value: Self.value(keyValue.value, of: name))
        } else if !refused.isEmpty {
            refused[keyValue.key] = nil
        }
        return !isRefused
    }

    /// Refuses the key of an entry if it was created later than another one with an equal name; returns whether it was.
    private mutating func refuse(
        ifLaterThan keyValue: KeyValue, named name: String, _ values: inout [String: PropertyListValue]
    ) -> Bool {
        guard let index = revisions.index(forKey: name), revisions[index].value.created > keyValue.createRevision,
            let value = values.removeValue(forKey: name)
        else { return false }
        let (other, written) = revisions.remove(at: index)
        refused[keyValue.key] = nil
        refused[keys.start + other.utf8] = Refused(name: other, revisions: written, value: value)
        return true
    }

    /// Makes refused keys entries whose names no other key has any more.
    private mutating func admitRefused(_ values: inout [String: PropertyListValue?], at revision: Int64) {
        if refused.isEmpty { return }
        // The first that was created, as in a snapshot.
        let inOrder = refused.sorted { one, other in
            let (created, others) = (one.value.revisions.created, other.value.revisions.created)
            return created == others ? one.key.lexicographicallyPrecedes(other.key) : created < others
        }
        for (key, candidate) in inOrder where revisions[candidate.name] == nil {
            refused[key] = nil
            revisions[candidate.name] = candidate.revisions
            admitted[candidate.name] = revision
            values.updateValue(candidate.value, forKey: candidate.name)
        }
    }

    /// What people should know of the keys that are no entries, by key.
    var failures: [[UInt8]: StorageError] { refused.mapValues { failure(of: $0.name) } }

    private func failure(of refused: String) -> StorageError {
        let reason = "etcd has two keys for \"\(refused)\", in different Unicode normalizations; delete one of them"
        return .unreadable(file: name, reason: reason)
    }

    /// The value of an entry: the bytes, if somebody has put there what is no property list.
    static func value(_ bytes: [UInt8], of name: String) -> PropertyListValue {
        do throws(EntryValue.Failure) {
            return try EntryValue.decode(bytes, for: name)
        } catch {
            return .data(Data(bytes))
        }
    }

    // MARK: Comparing

    /// The key of an entry: the one that it has in etcd, if it is stored.
    func key(of name: String) -> [UInt8]? {
        keys.key(of: revisions.index(forKey: name).map { revisions.keys[$0] } ?? name)
    }

    /// The revision in which an entry was written last; nil if it is not stored.
    func modRevision(of name: String) -> Int64? {
        revisions[name]?.modified
    }

    /// The comparisons with which a transaction that was made on earlier entries finds what it has read; nil if that has changed already.
    ///
    /// - Parameters:
    ///   - names: the names of the entries that it has read; nil for all.
    ///   - earlier: the entries that it has read, and their revision.
    func compares(of names: Set<String>?, read earlier: StorageEntries) -> [TxnRequest.Compare]? {
        guard let number = earlier.revision?.number, earlier.revision?.history == history else { return nil }
        let last = Int64(clamping: number)
        // Entries whose keys are other ones since cannot be found by comparing those.
        if admitted.contains(where: { $0.value > last && names?.contains($0.key) != false }) { return nil }
        guard let names, names.count <= Self.mostCompares else {
            // Without later ones, entries can only be missing.
            if revision > last, revisions.contains(where: { $0.value.modified > last }) || revisions.count != earlier.values.count {
                return nil
            }
            return comparesOfAll(since: last)
        }
        var compares: [TxnRequest.Compare] = []
        for name in names {
            let revision = modRevision(of: name) ?? 0
            guard revision <= last, (revision == 0) == (earlier[name] == nil) else { return nil }
            // A name that can be no key is never stored.
            if let key = key(of: name) { compares.append(TxnRequest.Compare(key: key, target: .modRevision(revision))) }
        }
        return compares
    }

    /// Comparisons of all entries. That of the range does not see what was deleted: the fence tells that of this library, and each single
    /// key that of others, if there are not too many.
    private func comparesOfAll(since last: Int64) -> [TxnRequest.Compare] {
        let range = TxnRequest.Compare(
            key: keys.entriesStart, rangeEnd: keys.rangeEnd, relation: .less, target: .modRevision(last + 1))
        let fence = TxnRequest.Compare(key: keys.fence, relation: .less, target: .modRevision(last + 1))
        guard revisions.count <= Self.mostCompares else { return [range, fence] }
        return [range, fence]
            + revisions.compactMap { name, revisions in
                keys.key(of: name).map { TxnRequest.Compare(key: $0, target: .modRevision(revisions.modified)) }
            }
    }
}

extension EntryKeys {
    /// The first key that an entry may have.
    var entriesStart: [UInt8] { start + [1] }

    /// A reserved key that is written whenever this library deletes an entry.
    var fence: [UInt8] { reservedKey("deleted") }

    /// The error for a name that can be no key.
    static func unusable(_ name: String) -> StorageError {
        .unencodable(key: name, reason: "a name in etcd may not be empty, nor begin with a NUL")
    }

    /// The reserved key of a token.
    func token(_ name: String) -> [UInt8] { reservedKey("token/" + name) }

    /// The attempt of a transaction that has written a token; nil if the key is none.
    func attempt(_ keyValue: KeyValue) -> String? {
        guard case .reserved(let name) = meaning(of: keyValue.key), name.hasPrefix("token/") else { return nil }
        return String(decoding: keyValue.value, as: UTF8.self)
    }
}
