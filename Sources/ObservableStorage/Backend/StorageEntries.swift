public import PropertyListCoding

/// All entries of a storage by name, and which of them were edited since they were read.
public struct StorageEntries: Sendable {
    /// The entries by name.
    public private(set) var values: [String: PropertyListValue]
    /// The names of the entries that were set or removed through this value.
    public private(set) var editedKeys: Set<String> = []
    // Copies that were not edited since share a stamp, and so are known to be equal without looking.
    private var stamp: UInt64
    // The stamp of the entries that these were made from, and what is different: it need not be looked for again.
    private var difference: (stamp: UInt64, changes: [String: PropertyListValue?])?

    /// Takes entries as they were read.
    public init(_ values: [String: PropertyListValue] = [:]) {
        self.values = values
        stamp = UniqueNumber.next()
    }

    /// Takes earlier entries and what is different from them.
    init(_ earlier: StorageEntries, with changes: [String: PropertyListValue?]) {
        self.init(earlier.values)
        for (key, value) in changes { values[key] = value }
        difference = (earlier.stamp, changes)
    }

    /// The value of an entry; nil removes it. Setting what is there already is no edit.
    public subscript(key: String) -> PropertyListValue? {
        get { values[key] }
        set {
            guard values[key] != newValue else { return }
            values[key] = newValue
            editedKeys.insert(key)
            stamp = UniqueNumber.next()
            difference = nil
        }
    }

    /// The entries as they read back from a format they were written in, none of them edited.
    func stored(as format: PropertyListFormat) -> StorageEntries {
        var stored = self
        stored.editedKeys = []
        // Binary loses nothing, and a copy of the values takes as long as writing them.
        guard format == .xml else { return stored }
        for key in editedKeys { stored.values[key] = values[key]?.rounded(for: format) }
        stored.stamp = UniqueNumber.next()
        stored.difference = nil
        return stored
    }

    /// What is different from earlier entries: the value of each entry that was set, nil for one that was removed.
    public func changes(since earlier: StorageEntries) -> [String: PropertyListValue?] {
        guard stamp != earlier.stamp else { return [:] }
        if let difference, difference.stamp == earlier.stamp { return difference.changes }
        var changes: [String: PropertyListValue?] = [:]
        var common = 0
        for (key, value) in values {
            let old = earlier.values[key]
            if old != nil { common += 1 }
            if old != value { changes[key] = .some(value) }
        }
        if common < earlier.values.count {
            for key in earlier.values.keys where values[key] == nil { changes[key] = .some(nil) }
        }
        return changes
    }
}
