import PropertyListCoding

/// The values of entries besides the stored ones, by name.
struct ValueLayers: Sendable {
    /// Values that take precedence over stored ones, and cannot be set.
    var mandatory: [String: PropertyListValue] = [:]
    /// Values registered by this process for use while none is stored.
    var registered: [String: PropertyListValue] = [:]
    /// Values for use while none is stored or registered.
    var defaults: [String: PropertyListValue] = [:]

    /// The values of a key besides its own default, in the order of precedence.
    ///
    /// - Parameter stored: the stored value of a name.
    func entry(_ name: EntryName, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        let entry = name.entry(registered: fallback(of: name), stored)
        guard !mandatory.isEmpty, let value = mandatory(name) else { return entry }
        return StoredEntry(stored: value, fallback: entry.fallback, registered: entry.registered)
    }

    /// The mandatory value of a key: its own, or else that of the key to which it falls back.
    func mandatory(_ name: EntryName) -> PropertyListValue? {
        mandatory.isEmpty ? nil : name.leaf(mandatory[name.own]) ?? name.fallback.flatMap { name.leaf(mandatory[$0]) }
    }

    /// The value of a key that is used while none is stored.
    func fallback(of name: EntryName) -> PropertyListValue? {
        if registered.isEmpty, defaults.isEmpty { return nil }
        return name.leaf(registered[name.registered]) ?? name.leaf(defaults[name.registered])
    }
}

/// The values of a key besides its own default, in the order of precedence.
struct StoredEntry: Sendable, Equatable {
    /// The stored value.
    let stored: PropertyListValue?
    /// The stored value of the key to which this one falls back.
    var fallback: PropertyListValue?
    /// The value registered for use while none is stored.
    let registered: PropertyListValue?

    /// The change of a key between these values: whether its own value changes, not the fallback's, and whether that is removed; nil if the
    /// key has the same value.
    func change(to new: StoredEntry) -> (isOwn: Bool, isRemoval: Bool)? {
        if stored != new.stored { return (true, new.stored == nil) }
        return new.stored == nil && fallback != new.fallback ? (false, new.fallback == nil) : nil
    }
}
