import Foundation
public import PropertyListCoding

/// All entries of a storage by name, and which of them were edited since they were read.
public struct StorageEntries: Sendable {
    /// The names of the entries that were set or removed through this value.
    public private(set) var editedKeys: Set<String> = []
    private var base: [String: PropertyListValue]
    // What was made of some entries of the base: one that others hold is not copied for few edits, unless it holds much in vain then.
    private var edits: [String: PropertyListValue?] = [:]
    // Copies that were not edited since share a stamp, and so are known to be equal without looking.
    private var stamp: UInt64
    // The stamp of the entries that these were made from, and what is different: it need not be looked for again.
    private var difference: (stamp: UInt64, changes: [String: PropertyListValue?])?

    /// Takes entries as they were read.
    public init(_ values: [String: PropertyListValue] = [:]) {
        base = values
        stamp = UniqueNumber.next()
    }

    /// Takes earlier entries and what is different from them.
    init(_ earlier: StorageEntries, with changes: [String: PropertyListValue?]) {
        self = earlier.unedited
        for (key, value) in changes { put(value, for: key) }
        stamp = UniqueNumber.next()
        difference = (earlier.stamp, changes)
    }

    /// The entries by name. Takes time for each of them, whenever it is asked for after an edit.
    public var values: [String: PropertyListValue] {
        edits.reduce(into: base) { $0[$1.key] = $1.value }
    }

    /// The value of an entry; nil removes it. Setting what is there already is no edit.
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
        // A copy that is edited copies the edits, and sometimes the base: with so many edits both take about as long.
        if edits.count * edits.count > 256 + 2 * base.count || base[key]?.isLarge == true { gather() }
    }

    /// Makes ``values`` cost nothing until the next edit. Copies them once, if others hold them.
    mutating func gather() {
        for (key, value) in edits { base[key] = value }
        edits = [:]
    }

    /// Writes the entries as a property list; takes no copy of them for it, unless the format is XML.
    func encoded(as format: PropertyListFormat) throws(PropertyListError) -> Data {
        try PropertyListValue.encode(base, with: edits, as: format)
    }

    /// The same entries, none of them edited.
    var unedited: StorageEntries {
        var entries = self
        entries.editedKeys = []
        return entries
    }

    /// The entries as they read back from a format they were written in, none of them edited.
    func stored(as format: PropertyListFormat) -> StorageEntries {
        var stored = unedited
        // Binary loses nothing, and a copy of the values takes as long as writing them.
        guard format == .xml else { return stored }
        for key in editedKeys { stored.put(self[key]?.rounded(for: format), for: key) }
        stored.stamp = UniqueNumber.next()
        stored.difference = nil
        return stored
    }

    /// What is different from earlier entries: the value of each entry that was set, nil for one that was removed.
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
    /// Whether it takes more than about 64 KB. No more than that is looked at.
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
