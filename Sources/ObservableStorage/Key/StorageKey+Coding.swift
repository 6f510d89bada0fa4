import Foundation
import PropertyListCoding

// What is stored for a value, and the value of what is stored.
extension StorageKey {
    /// What to store for a value; nil if the entry is to be removed.
    ///
    /// - Parameter storable: returns the value as a backend stores it; see ``StorageBackend/storable(_:for:)``.
    func stored(
        _ value: Value, as storable: (PropertyListValue) throws(StorageError) -> PropertyListValue = { $0 }
    ) throws(StorageError) -> PropertyListValue? {
        if definition.traits.isNil(value) { return nil }
        let stored: PropertyListValue
        do {
            stored = try definition.traits.codec.encode(value)
            switch stored {
            // Every backend stores these as they are. Asking took a tenth of the time of a write.
            case .integer(let number): return .integer(number)
            case .boolean(let isTrue): return .boolean(isTrue)
            default: try stored.validate()
            }
        } catch {
            throw StorageError.unencodable(key: name, because: error)
        }
        return try storable(stored)
    }

    /// The value that is stored, in its present shape or an earlier one.
    ///
    /// - Parameters:
    ///   - entry: where it is stored, which keeps what was decoded.
    ///   - version: that of the entry when it had what is stored.
    func decoded(_ stored: PropertyListValue, in entry: Entry? = nil, at version: UInt64 = 0) throws(StorageError) -> Value {
        do {
            return try present(stored, in: entry, at: version)
        } catch {
            if let value = migrated(stored) { return value }
            throw StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error)
        }
    }

    /// Whether the value is stored in its present shape; see ``decoded(_:in:at:)``.
    func isPresentShape(_ stored: PropertyListValue, in entry: Entry? = nil, at version: UInt64 = 0) -> Bool {
        do {
            _ = try present(stored, in: entry, at: version)
            return true
        } catch {
            return false
        }
    }

    /// The value that is stored in its present shape. What a codec of the user has decoded is not decoded again.
    private func present(_ stored: PropertyListValue, in entry: Entry?, at version: UInt64) throws -> Value {
        let codec = definition.traits.codec
        guard let entry, !codec.isNative else { return try codec.decode(stored) }
        let number = definition.traits.codecNumber
        if let known = entry.reading(at: version, by: number) { return known.value() }
        let value = try codec.decode(stored)
        // What comes from the fallback is that key's value, not this one's.
        let key = entry.name == name ? definition : fallback?.definition ?? definition
        key.keep(ValueReading(value, of: entry, at: version, codec: number))
        return value
    }

    /// The value of the newest earlier shape that what is stored has.
    func migrated(_ stored: PropertyListValue) -> Value? {
        for migrate in definition.traits.migrations {
            do {
                return try migrate(stored)
            } catch {
                continue
            }
        }
        return nil
    }

    /// Whether no user code runs when what is stored is given the key's type.
    var isReadWithoutUserCode: Bool {
        definition.traits.runsNoUserCode && !definition.needsMigration
    }
}

extension StorageKey {
    /// The value of an entry: what is stored, or else in the fallback, or else registered, or else the key's default.
    ///
    /// - Parameters:
    ///   - decode: decodes one of these.
    ///   - earlier: what was stored and in the fallback before, the newest first; asked for where what counts is bad: the last good value
    ///     counts then.
    /// - Returns: the value; what is wrong with the one that should count; and the earlier one that counts in its place, if that is one.
    func value(
        of entry: StoredEntry, _ decode: (PropertyListValue) throws(StorageError) -> Value,
        orLastOf earlier: () -> (own: [PropertyListValue], fallback: [PropertyListValue])
    ) -> (value: Value, failure: StorageError?, good: PropertyListValue?) {
        guard let counting = entry.stored ?? entry.fallback ?? entry.registered else { return (defaultValue, nil, nil) }
        do {
            return (try decode(counting), nil, nil)
        } catch {
            let (own, fallback) = earlier()
            let ofCounting = entry.stored == nil ? (entry.fallback == nil ? [] : fallback) : own
            if let (value, good) = firstDecoded(ofCounting) { return (value, error, good) }
            var others: [PropertyListValue?] = [entry.registered]
            if entry.stored != nil, let next = entry.fallback { others = [next] + fallback + others }
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

extension KeyDefinition.Traits {
    /// Whether no user code turns a value into what is stored, or back.
    var runsNoUserCode: Bool {
        codec.isNative && typesWithoutUserCode.contains(ObjectIdentifier(Value.self))
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
