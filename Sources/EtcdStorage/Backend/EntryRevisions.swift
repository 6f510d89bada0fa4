import ObservableStorage
import PropertyListCoding

/// The keys of all entries with their revisions, which transactions compare.
///
/// Names that differ only in their Unicode normalization are equal in Swift, but two keys in etcd. The entry is the key that was created
/// first, in every store; the others are duplicates, and become entries when it is deleted.
struct EntryRevisions: Sendable {
    /// The number of comparisons beyond which a single one of the whole range is made; fewer at a cluster with lower limits.
    static let maximumCompares = 100

    /// The revisions in which a key was created and last written.
    private typealias Revisions = (created: Int64, modified: Int64)
    private typealias Duplicate = (name: String, revisions: Revisions, value: PropertyListValue)

    private let keys: EntryKeys
    // A name has the bytes of its key, which an equal string may not have.
    private var revisions: [String: Revisions] = [:]
    private var duplicates: [[UInt8]: Duplicate] = [:]
    // The revisions in which duplicates became entries, which have not been written since.
    private var promotions: [String: Int64] = [:]

    /// Begins without entries.
    ///
    /// - Parameter capacity: the expected number of entries.
    init(_ keys: EntryKeys, capacity: Int) {
        self.keys = keys
        revisions.reserveCapacity(capacity)
    }

    var duplicateNames: [[UInt8]: String] { duplicates.mapValues(\.name) }

    /// The key of an entry: its present one if it is stored.
    func key(of name: String) -> [UInt8]? {
        keys.key(of: storedName(of: name) ?? name)
    }

    /// The revision in which an entry was last written; nil if it is not stored.
    func modRevision(of name: String) -> Int64? {
        revisions[name]?.modified
    }

    /// The name of an entry with the bytes of its key; nil if it is not stored.
    private func storedName(of name: String) -> String? {
        revisions.index(forKey: name).map { revisions.keys[$0] }
    }

    // MARK: Changes

    /// Adds a key of a snapshot; returns false if it is a duplicate.
    ///
    /// - Parameter values: the values of the entries, from which those that become duplicates are removed.
    mutating func insert(_ keyValue: KeyValue, named name: String, _ values: inout [String: PropertyListValue]) -> Bool {
        guard isEntry(keyValue, named: name) || replaceLater(than: keyValue, named: name, &values) else { return false }
        revisions[name] = (keyValue.createRevision, keyValue.modRevision)
        return true
    }

    /// Applies a write of a key; returns false if it is a duplicate.
    mutating func put(_ keyValue: KeyValue, named name: String) -> Bool {
        guard isEntry(keyValue, named: name) else { return false }
        promotions[name] = nil
        revisions[name] = (keyValue.createRevision, keyValue.modRevision)
        return true
    }

    /// Applies the deletion of a key; returns whether it was the entry of its name.
    mutating func delete(_ keyValue: KeyValue, named name: String) -> Bool {
        guard duplicates.removeValue(forKey: keyValue.key) == nil else { return false }
        if let stored = storedName(of: name), !stored.utf8.elementsEqual(name.utf8) { return false }
        (promotions[name], revisions[name]) = (nil, nil)
        return true
    }

    /// Turns duplicates into entries if no other key has their names any more, and returns them.
    mutating func promoteDuplicates(at revision: Int64) -> [(name: String, value: PropertyListValue)] {
        if duplicates.isEmpty { return [] }
        // The first one that was created, as in a snapshot.
        let inOrder = duplicates.sorted { one, other in
            let (created, others) = (one.value.revisions.created, other.value.revisions.created)
            return created == others ? one.key.lexicographicallyPrecedes(other.key) : created < others
        }
        var promoted: [(name: String, value: PropertyListValue)] = []
        for (key, candidate) in inOrder where revisions[candidate.name] == nil {
            duplicates[key] = nil
            revisions[candidate.name] = candidate.revisions
            promotions[candidate.name] = revision
            promoted.append((candidate.name, candidate.value))
        }
        return promoted
    }

    /// Whether a key is that of the entry with its name; otherwise it becomes a duplicate.
    private mutating func isEntry(_ keyValue: KeyValue, named name: String) -> Bool {
        let isDuplicate = storedName(of: name).map { !$0.utf8.elementsEqual(name.utf8) } ?? false
        if isDuplicate {
            let value = PropertyListValue(leniently: keyValue.value)
            duplicates[keyValue.key] = (name, (keyValue.createRevision, keyValue.modRevision), value)
        } else if !duplicates.isEmpty {
            duplicates[keyValue.key] = nil
        }
        return !isDuplicate
    }

    /// Turns the entry with an equal name into a duplicate if it was created later than a key; returns whether it was.
    private mutating func replaceLater(
        than keyValue: KeyValue, named name: String, _ values: inout [String: PropertyListValue]
    ) -> Bool {
        guard let index = revisions.index(forKey: name), revisions[index].value.created > keyValue.createRevision,
            let value = values.removeValue(forKey: name)
        else { return false }
        let (other, written) = revisions.remove(at: index)
        duplicates[keyValue.key] = nil
        duplicates[keys.start + other.utf8] = (other, written, value)
        return true
    }

    // MARK: Comparing

    /// The comparisons by which a transaction detects whether what it has read has changed; nil if it has changed already.
    ///
    /// - Parameters:
    ///   - names: the names of the entries that it has read; nil for all.
    ///   - earlier: the entries that it has read, with their revision.
    ///   - revision: the revision up to which events were applied.
    ///   - maximum: the number of comparisons beyond which a single one of the whole range is made.
    func compares(
        of names: Set<String>?, read earlier: StorageEntries, at revision: Int64, upTo maximum: Int
    ) -> [TxnRequest.Compare]? {
        guard let number = earlier.revision?.number else { return nil }
        let last = Int64(clamping: number)
        // A comparison of the present key would not detect that the entry had another one.
        if promotions.contains(where: { $0.value > last && names?.contains($0.key) != false }) { return nil }
        guard let names, names.count <= maximum else {
            // If none is newer, entries can only be missing.
            if revision > last, revisions.contains(where: { $0.value.modified > last }) || revisions.count != earlier.values.count {
                return nil
            }
            return comparesOfAll(since: last, upTo: maximum)
        }
        var compares: [TxnRequest.Compare] = []
        for name in names {
            let modified = modRevision(of: name) ?? 0
            guard modified <= last, (modified == 0) == (earlier[name] == nil) else { return nil }
            // An invalid name is never stored.
            if let key = key(of: name) { compares.append(TxnRequest.Compare(key: key, modRevision: modified)) }
        }
        return compares
    }

    /// Comparisons of all entries. That of the range does not detect deletions: the fence detects those by this library, and a comparison
    /// of each key those by others, if there are not too many keys.
    private func comparesOfAll(since last: Int64, upTo maximum: Int) -> [TxnRequest.Compare] {
        let range = TxnRequest.Compare(key: keys.entriesStart, rangeEnd: keys.rangeEnd, isLess: true, modRevision: last + 1)
        let fence = TxnRequest.Compare(key: keys.fence, isLess: true, modRevision: last + 1)
        guard revisions.count <= maximum else { return [range, fence] }
        return [range, fence]
            + revisions.compactMap { name, revisions in
                keys.key(of: name).map { TxnRequest.Compare(key: $0, modRevision: revisions.modified) }
            }
    }
}

extension EntryKeys {
    /// The first key that an entry may have.
    var entriesStart: [UInt8] { start + [1] }

    /// A reserved key that is written whenever this library deletes an entry.
    var fence: [UInt8] { reservedKey("deleted") }
}
