import FoundationSubset
public import PropertyListCoding

/// All entries of a storage by name, with the names of those edited since they were read.
public struct StorageEntries: Sendable {
    /// The names of the entries that were set or removed through this value.
    public private(set) var editedKeys: Set<String> = []
    /// The names of the entries on which the edits depend; nil for all. Those of a transaction depend on what it has read; those made
    /// without reading, by setting another value than the present one, on none.
    public package(set) var readKeys: Set<String>?
    /// The paths of the edited values inside dictionaries, for entries that are not edited as a whole.
    private(set) var editedPaths: [String: Set<[String]>] = [:]
    /// Whether these are the entries of a store in memory that has not read its storage: removing one that is missing is an edit there.
    var isUnread = false
    /// The revision of the storage in which the entries were read; nil if the storage has none.
    public private(set) var revision: StorageRevision?
    private var base: StoredValues
    // Edits over the base, so that a shared base is not copied for few edits.
    private var edits: [String: PropertyListValue?] = [:]
    // Copies that were not edited since share a stamp, so that they are known to be equal without a comparison.
    private var stamp: UInt64
    // The last steps that led to these entries: the stamp before each, and the names of the entries that it edited.
    private var steps: [(stamp: UInt64, names: Set<String>)] = []
    // The stamp before the first edit.
    private var stampBeforeEdits: UInt64?

    // Each difference examines the names of all steps since.
    private static let stepLimit = 8

    /// Creates entries as they were read.
    public init(_ values: [String: PropertyListValue] = [:], revision: StorageRevision? = nil) {
        base = StoredValues(values)
        stamp = uniqueNumber()
        self.revision = revision
    }

    /// Creates entries that are decoded when they are read.
    init(_ entries: LazyEntries) {
        base = StoredValues(entries)
        stamp = uniqueNumber()
    }

    /// Creates entries from earlier ones and the differences, which are not determined again by ``changes(since:)``.
    ///
    /// - Parameters:
    ///   - earlier: the earlier entries.
    ///   - changes: the value of each entry that was set, and nil for one that was removed.
    ///   - revision: the revision of the storage with these entries; nil if it has none.
    public init(_ earlier: StorageEntries, with changes: [String: PropertyListValue?], revision: StorageRevision? = nil) {
        self = earlier.unedited
        for (key, value) in changes { put(value, for: key) }
        addStep(from: stamp, Set(changes.keys))
        stamp = uniqueNumber()
        self.revision = revision
    }

    private mutating func addStep(from stamp: UInt64, _ names: Set<String>) {
        if steps.count == Self.stepLimit { steps.removeFirst() }
        steps.append((stamp, names))
    }

    /// The entries by name. Takes linear time at each access after an edit.
    public var values: [String: PropertyListValue] {
        edits.reduce(into: base.values) { $0[$1.key] = $1.value }
    }

    /// The entries by name, not decoded as far as they were not read.
    var stored: StoredValues {
        edits.isEmpty ? base : StoredValues(values)
    }

    /// The values of some names, nil for those without an entry.
    func values(of names: some Sequence<String>) -> EntryEdits {
        names.reduce(into: [:]) { $0.updateValue(self[$1], forKey: $1) }
    }

    /// The value of an entry; nil removes it. Setting a value equal to the present one is not an edit.
    public subscript(key: String) -> PropertyListValue? {
        get {
            if !edits.isEmpty, let edit = edits[key] { return edit }
            return base[key]
        }
        set {
            guard self[key] != newValue || isUnread && newValue == nil else {
                // Whether this is an edit depends on the present value.
                readKeys?.insert(key)
                return
            }
            put(newValue, for: key)
            if !editedPaths.isEmpty { editedPaths[key] = nil }
            markEdited(key)
        }
    }

    private mutating func markEdited(_ key: String) {
        editedKeys.insert(key)
        if stampBeforeEdits == nil { stampBeforeEdits = stamp }
        stamp = uniqueNumber()
    }

    /// Sets or removes an entry of which only the values at some paths are edited; without paths, all of it.
    mutating func set(_ value: PropertyListValue?, for key: String, at paths: some Collection<[String]>) {
        guard !paths.isEmpty, !paths.contains([]) else { return self[key] = value }
        let earlier = editedKeys.contains(key) ? editedPaths[key] : []
        self[key] = value
        if let earlier, editedKeys.contains(key) { editedPaths[key] = earlier.union(paths) }
    }

    /// Sets or removes an entry, or the value at a path inside its dictionary: in place, after the first edit of the entry.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``; see ``EntryName/replace(_:in:)``.
    mutating func set(_ value: PropertyListValue?, at name: EntryName) throws(StorageError) {
        let key = name.own
        if name.path.isEmpty { return self[key] = value }
        readKeys?.insert(key)
        guard name.leaf(self[key]) != value || isUnread && value == nil else { return }
        if edits[key] == nil { edits.updateValue(base[key], forKey: key) }
        try name.replace(value, in: &edits[key, default: nil])
        if !editedKeys.contains(key) || editedPaths[key] != nil { editedPaths[key, default: []].insert(name.path) }
        markEdited(key)
    }

    private mutating func put(_ value: PropertyListValue?, for key: String) {
        edits.updateValue(value, forKey: key)
        // Decoding a large list takes longer than copying many edits, and several times its memory.
        if base.encodedSize >= largeListSize, edits.count < base.count / 8 { return }
        // Editing a copy copies the edits, or else the base: with so many edits both take about the same time. A large value that was
        // replaced is not retained in the base.
        if edits.count * edits.count > 256 + 2 * base.count || base[key]?.isLarge == true { gather() }
    }

    /// Makes access to ``values`` free until the next edit. Copies the entries once, if they are shared.
    mutating func gather() {
        base.merge(edits)
        edits = [:]
    }

    /// Whether some entries are decoded, and not only when they are read.
    var hasDecodedValues: Bool { !edits.isEmpty || base.encodedSize == 0 }

    /// The same entries, decoded when they are read from the list that was written with them; nil if they cannot be.
    func encoded(in list: Data) -> StorageEntries? {
        LazyEntries(list).map { encoded(as: StorageEntries($0), with: [:]) }
    }

    /// The same entries, decoded when they are read from others, from which they differ in some.
    func encoded(as other: StorageEntries, with edits: [String: PropertyListValue?]) -> StorageEntries {
        var entries = self
        (entries.base, entries.edits) = (other.base, edits)
        return entries
    }

    /// The entries as they were read or encoded, and the names of those that were edited since.
    var unmerged: (base: StoredValues, edited: [String]) { (base, Array(edits.keys)) }

    /// Whether the entries were made by the same edits as others.
    func isCopy(of other: StorageEntries) -> Bool {
        stamp == other.stamp
    }

    /// Encodes the entries as a property list, if possible by editing the one from which they were read.
    ///
    /// Copies them unless the format is binary.
    ///
    /// - Parameters:
    ///   - document: the bytes of the property list; nil for one of another format.
    ///   - earlier: the entries as they were read from it.
    func encoded(
        as format: PropertyListFormat, editing document: Data?, of earlier: StorageEntries
    ) throws(PropertyListError) -> Data {
        let edited = values(of: editedKeys)
        guard format != .binary else {
            let existing = edited.keys.count { earlier[$0] != nil }
            if let document, let bytes = PropertyListValue.document(document, after: edited, existing: existing) { return bytes }
            return try PropertyListValue.encode(base.values, with: edits, as: format)
        }
        return try PropertyListValue.encode(earlier.values, with: edited, as: format, editing: document)
    }

    /// The same entries, none of them marked as edited.
    var unedited: StorageEntries {
        var entries = self
        if let stampBeforeEdits { entries.addStep(from: stampBeforeEdits, editedKeys) }
        (entries.editedKeys, entries.editedPaths, entries.readKeys, entries.stampBeforeEdits) = ([], [:], nil, nil)
        return entries
    }

    /// The entries as they were stored, none of them marked as edited.
    ///
    /// - Parameter revision: the revision in which they are stored; nil if the storage has none.
    package func stored(at revision: StorageRevision?) -> StorageEntries {
        var entries = unedited
        entries.revision = revision
        return entries
    }

    /// The entries as they read back from the format in which they were written, none of them marked as edited.
    func stored(as format: PropertyListFormat) -> StorageEntries {
        var stored = unedited
        // Binary and JSON are lossless, and a copy of the values takes as long as writing them.
        guard format == .xml else { return stored }
        for key in editedKeys { stored.put(self[key]?.rounded(for: format), for: key) }
        stored.addStep(from: stamp, editedKeys)
        stored.stamp = uniqueNumber()
        return stored
    }

    /// The differences from earlier entries: the value of each entry that was set, nil for one that was removed.
    ///
    /// Takes time for all entries, unless these were made from the earlier ones in few steps.
    public func changes(since earlier: StorageEntries) -> [String: PropertyListValue?] {
        guard stamp != earlier.stamp else { return [:] }
        if let names = names(since: earlier.stamp) {
            return names.reduce(into: [:]) { changes, name in
                let value = self[name]
                if earlier[name] != value { changes.updateValue(value, forKey: name) }
            }
        }
        let (old, new) = (earlier.values, values)
        var changes: [String: PropertyListValue?] = [:]
        var common = 0
        for (key, value) in new {
            let before = old[key]
            if before != nil { common += 1 }
            if before != value { changes[key] = .some(value) }
        }
        if common < old.count {
            for key in old.keys where new[key] == nil { changes[key] = .some(nil) }
        }
        return changes
    }

    /// The names of the entries that may differ since a stamp; nil if that is not known.
    private func names(since stamp: UInt64) -> Set<String>? {
        if stampBeforeEdits == stamp { return editedKeys }
        guard let first = steps.firstIndex(where: { $0.stamp == stamp }) else { return nil }
        return steps[first...].reduce(into: editedKeys) { $0.formUnion($1.names) }
    }
}

extension StorageEntries: CustomReflectable {
    /// The values without secrets, see ``StorageKey/secret()``, and the revision.
    public var customMirror: Mirror {
        Mirror(self, children: ["values": SecretNames.redacted(values), "revision": revision as Any])
    }
}
