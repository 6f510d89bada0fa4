import Foundation
public import PropertyListCoding

/// All entries of a storage by name, with the names of those edited since they were read.
public struct StorageEntries: Sendable {
    /// The names of the entries that were set or removed through this value.
    public private(set) var editedKeys: Set<String> = []
    private var base: [String: PropertyListValue]
    // Edits of some entries of the base: a shared base is not copied for few edits, unless it would retain a large value needlessly.
    private var edits: [String: PropertyListValue?] = [:]
    // Copies that were not edited since share a stamp, so that they are known to be equal without a comparison.
    private var stamp: UInt64
    // The stamp of the entries from which these were made, and the differences, which need not be determined again.
    private var difference: (stamp: UInt64, changes: [String: PropertyListValue?])?

    /// Creates entries as they were read.
    public init(_ values: [String: PropertyListValue] = [:]) {
        base = values
        stamp = UniqueNumber.next()
    }

    /// Creates entries from earlier ones and the differences.
    init(_ earlier: StorageEntries, with changes: [String: PropertyListValue?]) {
        self = earlier.unedited
        for (key, value) in changes { put(value, for: key) }
        stamp = UniqueNumber.next()
        difference = (earlier.stamp, changes)
    }

    /// The entries by name. Takes linear time at each access after an edit.
    public var values: [String: PropertyListValue] {
        edits.reduce(into: base) { $0[$1.key] = $1.value }
    }

    /// The value of an entry; nil removes it. Setting a value equal to the present one is not an edit.
    public subscript(key: String) -> PropertyListValue? {
        get {
            if !edits.isEmpty, let edit = edits[key] { return edit }
            return base[key]
        }
        set {
            guard self[key] != newValue else { return }
            put(newValue, for: key)
            editedKeys.insert(key)
            stamp = UniqueNumber.next()
            difference = nil
        }
    }

    private mutating func put(_ value: PropertyListValue?, for key: String) {
        edits.updateValue(value, forKey: key)
        // Editing a copy copies the edits, and sometimes the base: with so many edits both take about the same time.
        if edits.count * edits.count > 256 + 2 * base.count || base[key]?.isLarge == true { gather() }
    }

    /// Makes access to ``values`` free until the next edit. Copies the entries once, if they are shared.
    mutating func gather() {
        for (key, value) in edits { base[key] = value }
        edits = [:]
    }

    /// Encodes the entries as a property list, without copying them unless the format is XML.
    func encoded(as format: PropertyListFormat) throws(PropertyListError) -> Data {
        try PropertyListValue.encode(base, with: edits, as: format)
    }

    /// The same entries, none of them marked as edited.
    var unedited: StorageEntries {
        var entries = self
        entries.editedKeys = []
        return entries
    }

    /// The entries as they read back from the format in which they were written, none of them marked as edited.
    func stored(as format: PropertyListFormat) -> StorageEntries {
        var stored = unedited
        // Binary is lossless, and a copy of the values takes as long as writing them.
        guard format == .xml else { return stored }
        for key in editedKeys { stored.put(self[key]?.rounded(for: format), for: key) }
        stored.stamp = UniqueNumber.next()
        stored.difference = nil
        return stored
    }

    /// The differences from earlier entries: the value of each entry that was set, nil for one that was removed.
    public func changes(since earlier: StorageEntries) -> [String: PropertyListValue?] {
        guard stamp != earlier.stamp else { return [:] }
        if let difference, difference.stamp == earlier.stamp { return difference.changes }
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
}

extension PropertyListValue {
    /// Whether the value takes more than about 64 KB. The rest of a larger value is not examined.
    fileprivate var isLarge: Bool {
        var size = 0
        var pending = [self]
        while size <= 65_536, let value = pending.popLast() {
            size += 32
            switch value {
            case .string(let text): size += text.utf8.count
            case .data(let data): size += data.count
            case .array(let elements): pending += elements.prefix(2_048)
            case .dictionary(let entries): pending += entries.values.prefix(2_048)
            case .integer, .real, .boolean, .date, .uid: break
            }
        }
        return size > 65_536
    }
}
