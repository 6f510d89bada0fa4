import FoundationSubset
import PropertyListCoding

// Conversion between values and their stored form.
extension StorageKey {
    /// The stored form of a value; nil for nil, see ``KeyDefinition/Traits/storedNil``.
    func stored(_ value: Value) throws(StorageError) -> PropertyListValue? {
        if definition.traits.isNil(value) { return nil }
        do {
            try definition.traits.validate?(value)
            let stored = try definition.traits.codec.encode(value)
            if isPlain(stored) { return stored }
            // In the dictionaries of the list and of the path.
            try stored.validate(inside: 1 + definition.entryName.path.count)
            if let storedNil = definition.traits.storedNil, stored == storedNil {
                throw CodingFailure("\(stored.briefDescription) denotes nil in a scene")
            }
            return stored
        } catch {
            throw StorageError.unencodable(key: name, because: error, isSecret: isSecret)
        }
    }

    /// Whether every backend stores a value of the key unchanged. Calling the backend took a tenth of the time of a write.
    func isPlain(_ stored: PropertyListValue) -> Bool {
        switch stored {
        case .integer, .boolean: definition.hasPlainName
        default: false
        }
    }

    /// The stored form of a value; nil also for one that cannot be stored, such as a default that is never written.
    func storedForm(of value: Value) -> PropertyListValue? {
        do throws(StorageError) { return try stored(value) } catch { return nil }
    }

    /// The stored value, in its present type or an earlier one.
    ///
    /// - Parameter source: the entry that caches the decoded value, and its version with this stored value.
    func decoded(_ stored: PropertyListValue, in source: EntryVersion? = nil) throws(StorageError) -> Value {
        do {
            return try present(stored, in: source)
        } catch let failure {
            do {
                if let value = try migrated(stored) { return value }
            } catch {
                // The value is of an earlier type, so the error of decoding it as the present one does not explain anything.
                throw undecodable(stored, because: error)
            }
            throw undecodable(stored, because: failure)
        }
    }

    private func undecodable(_ stored: PropertyListValue, because error: any Error) -> StorageError {
        StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error, isSecret: isSecret)
    }

    /// Whether a value of the key's own entry is stored in its present type; see ``decoded(_:in:)``.
    func isPresentShape(_ stored: PropertyListValue, in source: EntryVersion? = nil) -> Bool {
        if stored == definition.traits.storedNil { return true }
        do {
            _ = try present(stored, in: source)
            return true
        } catch {
            return false
        }
    }

    /// The value stored in its present type. A value decoded by a user-defined codec is not decoded again.
    private func present(_ stored: PropertyListValue, in source: EntryVersion?) throws -> Value {
        let codec = definition.traits.codec
        guard let source, !codec.isNative else { return try validated(codec.decode(stored)) }
        let number = definition.traits.codecNumber
        if let known = source.entry.reading(at: source.version, by: number) { return known.value() }
        let value = try validated(codec.decode(stored))
        // A value from the fallback is that key's value, not this one's.
        let key = source.entry.name == definition.entryName.own ? definition : fallback?.definition ?? definition
        key.keep(ValueReading(value, of: source, codec: number))
        return value
    }

    /// The value converted by the first migration that accepts the stored value's type and succeeds; nil if none accepts it.
    ///
    /// - Throws: the error of the first migration that accepts the type, if all of those throw.
    func migrated(_ stored: PropertyListValue) throws -> Value? {
        var failure: (any Error)?
        for migrate in definition.traits.migrations {
            do {
                if let value = try migrate(stored) { return try validated(value) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    func validated(_ value: Value) throws -> Value {
        try definition.traits.validate?(value)
        return value
    }
}

extension StorageKey {
    /// The value of an entry: that of the first source that has one, or else the key's default. This is what all readers and observers have.
    ///
    /// - Parameters:
    ///   - decode: decodes the present value.
    ///   - earlier: the previous values; called if the present one is invalid.
    /// - Returns: the value; the error of an invalid present value; and the source of the value, nil if it is the key's default.
    func value(
        of entry: StoredEntry, _ decode: (PropertyListValue) throws(StorageError) -> Value, orLastOf earlier: () -> EarlierValues
    ) -> (value: Value, failure: StorageError?, good: StoredEntry.ValidValue?) {
        do throws(StorageError) {
            guard let source = entry.source else { return (defaultValue, nil, nil) }
            if source == .override, let override = entry.override { return (try value(of: override), nil, (source, nil)) }
            if source == .stored, let none = nilValue(storedAs: entry.stored) { return (none, nil, (source, entry.stored)) }
            guard let present = entry[source] else { return (defaultValue, nil, nil) }
            return (try decode(present), nil, (source, present))
        } catch {
            let found = replacement(in: entry, earlier())
            return (found?.value ?? defaultValue, error, found?.good)
        }
    }

    /// The value that is used if that of the first source of an entry is invalid: the last valid value of that source, or else the value that
    /// would be used without that source, see ``StoredEntry/sources``; nil for the key's default.
    func replacement(in entry: StoredEntry, _ earlier: EarlierValues) -> (value: Value, good: StoredEntry.ValidValue)? {
        for next in entry.sources {
            if next == .override, entry.source != .override, let override = entry.override {
                do throws(StorageError) { return (try value(of: override), (next, nil)) } catch { continue }
            }
            let candidates = [next == entry.source ? nil : entry[next]].compactMap(\.self) + earlier[next]
            guard let (value, stored) = firstDecoded(candidates, areOwn: next == .stored) else { continue }
            return (value, (next, stored))
        }
        return nil
    }

    /// Nil, if the stored value of the key's own entry is its stored form.
    private func nilValue(storedAs own: PropertyListValue?) -> Value? {
        guard let own, own == definition.traits.storedNil, let type = Value.self as? any OptionalValue.Type else { return nil }
        return type.nilValue as? Value
    }

    private func firstDecoded(
        _ candidates: [PropertyListValue], areOwn: Bool
    ) -> (value: Value, stored: PropertyListValue)? {
        for candidate in candidates {
            if areOwn, let none = nilValue(storedAs: candidate) { return (none, candidate) }
            do throws(StorageError) {
                return (try decoded(candidate), candidate)
            } catch {
                continue
            }
        }
        return nil
    }
}

extension KeyDefinition.Traits {
    var runsNoUserCode: Bool {
        codec.isNative && validate == nil && !hasDynamicDefault && typesWithoutUserCode.contains(ObjectIdentifier(Value.self))
    }
}

// Types whose stored form is this library's or the system's, by themselves and as optionals.
private let typesWithoutUserCode: Set<ObjectIdentifier> = {
    func pair<Value>(_ type: Value.Type) -> [ObjectIdentifier] {
        [ObjectIdentifier(type), ObjectIdentifier(Value?.self)]
    }
    let integers = pair(Int.self) + pair(Int64.self) + pair(Int32.self) + pair(UInt.self) + pair(UInt64.self) + pair(UInt32.self)
    let others = pair(Bool.self) + pair(Double.self) + pair(Float.self) + pair(String.self) + pair(Data.self) + pair(Date.self)
    return Set(integers + others + pair(URL.self) + pair(UUID.self) + pair(PropertyListValue.self))
}()
