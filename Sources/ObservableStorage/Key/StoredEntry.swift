import PropertyListCoding

/// What there is for a key besides its own default.
struct StoredEntry: Sendable {
    /// What is stored.
    let stored: PropertyListValue?
    /// What is registered in place of a value that is not stored.
    let registered: PropertyListValue?
}

extension StorageKey {
    /// The value of an entry: what is stored, or else registered, or else the key's default.
    func value(of entry: StoredEntry) throws(StorageError) -> Value {
        guard let value = entry.stored ?? entry.registered else { return defaultValue }
        return try decoded(value)
    }

    /// The value of an entry, passing over what cannot be decoded.
    func valueOrDefault(of entry: StoredEntry) -> Value {
        decodedOrNil(entry.stored) ?? decodedOrNil(entry.registered) ?? defaultValue
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
