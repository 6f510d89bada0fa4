import PropertyListCoding

/// How much a storage accepts in one edit.
///
/// A store divides pending edits into several commits, except those made in one step. A value, a step or a transaction that is too large is
/// refused with ``StorageError/tooLarge(key:reason:)``.
public struct StorageLimits: Sendable, Hashable {
    /// The number of entries that one edit may set or remove; nil if it is not limited.
    public var operations: Int?
    /// The bytes of a value as a binary property list; nil if they are not limited.
    public var valueSize: Int?
    /// The bytes of all values of an edit together, with the names of their entries; nil if they are not limited.
    public var commitSize: Int?

    /// Creates limits; without arguments, there are none.
    public init(operations: Int? = nil, valueSize: Int? = nil, commitSize: Int? = nil) {
        (self.operations, self.valueSize, self.commitSize) = (operations, valueSize, commitSize)
    }
}

extension StorageBackend {
    /// The value as it will be read back after it was stored.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``; ``StorageError/tooLarge(key:reason:)``.
    func accepted(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        let stored = try storable(value, for: key)
        try limits.requireFitting(stored, for: key)
        return stored
    }
}

extension StorageLimits {
    /// Whether edits that are each accepted may not fit into one commit together.
    var applyToCommits: Bool { operations != nil || commitSize != nil }

    /// Whether one commit can have a number of edits of so many bytes together.
    private func takes(_ count: Int, _ size: Int) -> Bool {
        count <= operations ?? .max && size <= commitSize ?? .max
    }

    /// Whether values may be too large.
    var applyToSizes: Bool { valueSize != nil || commitSize != nil }

    /// Throws an error if a value is too large, or does not fit into any commit.
    fileprivate func requireFitting(_ value: PropertyListValue, for key: String) throws(StorageError) {
        guard applyToSizes else { return }
        let size = try Self.size(of: value, for: key)
        let limit = min(valueSize ?? .max, (commitSize ?? .max) - key.utf8.count)
        if size > limit { throw .tooLarge(key: key, reason: "\(size) bytes, of which it takes \(max(0, limit))") }
    }

    /// Throws an error if edits that belong together do not fit into one commit.
    func requireFitting(_ edits: EntryEdits) throws(StorageError) {
        if let operations, edits.count > operations {
            throw .tooLarge(key: nil, reason: "\(edits.count) entries, of which it takes \(operations)")
        }
        // A value inside a dictionary is stored with the others there.
        for case (let key, let value?) in edits { try requireFitting(value, for: key) }
        guard let commitSize else { return }
        let size = try Self.size(of: edits)
        if size > commitSize { throw .tooLarge(key: nil, reason: "\(size) bytes, of which it takes \(commitSize)") }
    }

    /// The first elements, at least one, whose entries one commit can remove.
    func removable<Element>(of elements: ArraySlice<Element>, names: (Element) -> [String]) -> ArraySlice<Element> {
        guard applyToCommits else { return elements }
        var (entries, size) = (Set<String>(), 0)
        return elements.prefix { element in
            let isFirst = entries.isEmpty
            // Several elements may be in one entry.
            for name in names(element) where entries.insert(name).inserted { size += name.utf8.count }
            return isFirst || takes(entries.count, size)
        }
    }

    /// The oldest pending edits, as many as fit into one commit; edits that were made together stay together.
    func batch(of edits: [String: PendingEdit]) throws(StorageError) -> [String: PendingEdit] {
        guard applyToCommits else { return edits }
        var batch: [String: PendingEdit] = [:]
        var (count, size) = (0, 0)
        var steps: [[String: PendingEdit]] = []
        for step in Self.steps(of: edits) { steps += try dividedIfTooLarge(step) }
        for step in steps {
            count += step.count
            size += try commitSize == nil ? 0 : Self.size(of: step.mapValues(\.value))
            // A single step that is too large was refused when it was made.
            if !batch.isEmpty, !takes(count, size) { break }
            batch.merge(step) { $1 }
        }
        return batch
    }

    // Steps that share an entry may be too large together. The later ones come first: a later step may set an entry whose earlier name is
    // removed by an earlier step.
    private func dividedIfTooLarge(_ step: [String: PendingEdit]) throws(StorageError) -> [[String: PendingEdit]] {
        let size = try commitSize == nil ? 0 : Self.size(of: step.mapValues(\.value))
        if takes(step.count, size) { return [step] }
        return Dictionary(grouping: step, by: \.value.revision).sorted { $0.key > $1.key }.map { step in
            Dictionary(uniqueKeysWithValues: step.value.map { ($0.key, $0.value) })
        }
    }

    /// The edits in the order of their revisions, divided into those that were made together.
    private static func steps(of edits: [String: PendingEdit]) -> [[String: PendingEdit]] {
        var steps: [[String: PendingEdit]] = []
        var indexOfRevision: [UInt64: Int] = [:]
        var indexOfPrincipal: [String: Int] = [:]
        for (key, edit) in edits.sorted(by: { ($0.value.revision, $0.key) < ($1.value.revision, $1.key) }) {
            let principal = edit.principal ?? key
            let (first, second) = (indexOfRevision[edit.revision], indexOfPrincipal[principal])
            let index = first ?? second ?? steps.count
            if index == steps.count { steps.append([:]) }
            steps[index][key] = edit
            (indexOfRevision[edit.revision], indexOfPrincipal[principal]) = (index, index)
            guard let second, second != index else { continue }
            // The edit connects an earlier step with the present one.
            steps[index].merge(steps[second]) { $1 }
            steps[second] = [:]
            for (key, edit) in steps[index] {
                (indexOfRevision[edit.revision], indexOfPrincipal[edit.principal ?? key]) = (index, index)
            }
        }
        return steps.filter { !$0.isEmpty }
    }

    /// The bytes of edits: those of the names of their entries, and of the values.
    private static func size(of edits: EntryEdits) throws(StorageError) -> Int {
        var size = 0
        for (key, value) in edits {
            size += key.utf8.count
            if let value { size += try Self.size(of: value, for: key) }
        }
        return size
    }

    private static func size(of value: PropertyListValue, for key: String) throws(StorageError) -> Int {
        do {
            return try value.encoded(as: .binary).count
        } catch {
            throw .unencodable(key: key, because: error)
        }
    }
}
