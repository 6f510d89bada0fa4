import PropertyListCoding

/// What there is for a key besides its own default, in the order in which it counts.
struct StoredEntry: Sendable, Equatable {
    /// What is stored.
    let stored: PropertyListValue?
    /// What is stored for the key that this one inherits from.
    var inherited: PropertyListValue?
    /// What is registered in place of a value that is not stored.
    let registered: PropertyListValue?
}

extension StorageKey {
    /// The value of an entry: what is stored, or else inherited, or else registered, or else the key's default.
    func value(of entry: StoredEntry) throws(StorageError) -> Value {
        guard let value = entry.stored ?? entry.inherited ?? entry.registered else { return defaultValue }
        return try decoded(value)
    }

    /// The value of an entry, passing over what cannot be decoded.
    func valueOrDefault(of entry: StoredEntry) -> Value {
        decodedOrNil(entry.stored) ?? decodedOrNil(entry.inherited) ?? decodedOrNil(entry.registered) ?? defaultValue
    }

    private func decodedOrNil(_ stored: PropertyListValue?) -> Value? {
        guard let stored else { return nil }
        do {
            return try decoded(stored)
        } catch {
            return nil
        }
    }
}
