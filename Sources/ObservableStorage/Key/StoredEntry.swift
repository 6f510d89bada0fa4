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
    /// - Returns: the value; what is wrong with the one that should count; and the earlier one that counts in its place, if that is one.
    func value(
        of entry: StoredEntry, _ decode: (PropertyListValue) throws(StorageError) -> Value,
        orLastOf earlier: () -> (own: [PropertyListValue], inherited: [PropertyListValue])
    ) -> (value: Value, failure: StorageError?, good: PropertyListValue?) {
        guard let counting = entry.stored ?? entry.inherited ?? entry.registered else { return (defaultValue, nil, nil) }
        do {
            return (try decode(counting), nil, nil)
        } catch {
            let (own, inherited) = earlier()
            let ofCounting = entry.stored == nil ? (entry.inherited == nil ? [] : inherited) : own
            if let (value, good) = firstDecoded(ofCounting) { return (value, error, good) }
            var others: [PropertyListValue?] = [entry.registered]
            if entry.stored != nil, let next = entry.inherited { others = [next] + inherited + others }
            return (firstDecoded(others.compactMap { $0 })?.value ?? defaultValue, error, nil)
        }
    }

    private func firstDecoded(_ candidates: [PropertyListValue]) -> (value: Value, stored: PropertyListValue)? {
        for candidate in candidates {
            do throws(StorageError) {
                return (try decoded(candidate), candidate)
            } catch {
                continue
            }
        }
        return nil
    }
}
