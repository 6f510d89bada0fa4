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
    ///
    /// - Parameters:
    ///   - decode: decodes one of these.
    ///   - earlier: what was stored and inherited before, the newest first; asked for where what counts is bad: the last good value counts then.
    /// - Returns: the value, and what is wrong with the one that should count.
    func value(
        of entry: StoredEntry, _ decode: (PropertyListValue) throws(StorageError) -> Value,
        orLastOf earlier: () -> (own: [PropertyListValue], inherited: [PropertyListValue])
    ) -> (value: Value, failure: StorageError?) {
        guard let counting = entry.stored ?? entry.inherited ?? entry.registered else { return (defaultValue, nil) }
        do {
            return (try decode(counting), nil)
        } catch {
            let (own, inherited) = earlier()
            var others: [PropertyListValue?] = entry.stored == nil ? [] : own + [entry.inherited]
            if entry.inherited != nil { others += inherited }
            return (firstDecoded(others + [entry.registered]) ?? defaultValue, error)
        }
    }

    private func firstDecoded(_ candidates: [PropertyListValue?]) -> Value? {
        for case let candidate? in candidates {
            do throws(StorageError) {
                return try decoded(candidate)
            } catch {
                continue
            }
        }
        return nil
    }
}
