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
        for value in [entry.stored, entry.registered] {
            guard let value else { continue }
            do {
                return try decoded(value)
            } catch {
                continue
            }
        }
        return defaultValue
    }
}
