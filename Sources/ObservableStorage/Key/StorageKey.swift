import Foundation
import PropertyListCoding

/// The name of a stored value, its type, and its value when nothing is stored.
///
/// Keys with the same name in one store are the same entry, whatever their types.
///
/// ```swift
/// extension StorageKey<Double> {
///     static let volume = StorageKey("volume", default: 0.8)
/// }
/// store[.volume] = 0.3
/// ```
public struct StorageKey<Value: Sendable>: Sendable {
    let body: KeyBody<Value>

    /// The entry's name in the property list. Any text; `.` and `/` have no meaning.
    public var name: String { body.traits.name }
    /// When reading writes the default.
    public var persistsDefault: DefaultPersistence { body.traits.persistsDefault }
    /// The value when nothing is stored and nothing registered; made when it is first needed, once.
    public var defaultValue: Value { body.traits.lazyDefault.value }

    init(
        _ name: String, codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = [],
        default makeDefault: @escaping @Sendable () -> Value
    ) {
        self.init(
            KeyTraits(
                name: name, persistsDefault: persistsDefault, codec: codec, lazyDefault: LazyValue(makeDefault), isNil: Self.nilCheck()))
    }

    private init(_ traits: KeyTraits<Value>) {
        body = KeyBody(traits)
    }

    // Decided once for the type: a cast for each write would cost more than the write.
    private static func nilCheck() -> @Sendable (Value) -> Bool {
        guard Value.self is any OptionalValue.Type else { return { _ in false } }
        return { ($0 as? any OptionalValue)?.isNil ?? false }
    }

    /// The same key with something about it changed.
    func with(_ change: (inout KeyTraits<Value>) -> Void) -> StorageKey {
        var traits = body.traits
        change(&traits)
        return StorageKey(traits)
    }
}

extension StorageKey {
    /// The same key with its name, and its earlier names, made over.
    func named(_ transform: (String) -> String) -> StorageKey {
        with { traits in
            traits.name = transform(traits.name)
            traits.earlierNames = traits.earlierNames.map(transform)
        }
    }

    /// What to store for a value, or nothing if the entry is to be removed.
    func stored(_ value: Value) throws(StorageError) -> PropertyListValue? {
        if body.traits.isNil(value) { return nil }
        do {
            let stored = try body.traits.codec.encode(value)
            try stored.validate()
            return stored
        } catch {
            throw StorageError.unencodable(key: name, because: error)
        }
    }

    /// The value that is stored, in its present shape or an earlier one.
    ///
    /// - Parameters:
    ///   - watch: that of the entry, which keeps what was decoded.
    ///   - changes: how often the entry had changed when it had what is stored.
    func decoded(
        _ stored: PropertyListValue, in watch: EntryWatch? = nil, at changes: UInt64 = 0
    ) throws(StorageError) -> Value {
        do {
            return try present(stored, in: watch, at: changes)
        } catch {
            if let value = migrated(stored) { return value }
            throw StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error)
        }
    }

    /// Whether nothing that a user wrote runs when what is stored is given the key's type.
    var isReadWithoutUserCode: Bool {
        body.traits.runsNoUserCode && !body.needsUpkeep
    }

    /// The value that is stored in its present shape. What a codec of the user's has decoded is not decoded again.
    private func present(_ stored: PropertyListValue, in watch: EntryWatch?, at changes: UInt64) throws -> Value {
        let codec = body.traits.codec
        guard let watch, codec.id != 0 else { return try codec.decode(stored) }
        if let known = watch.decoded(by: codec.id), known.stored == stored { return value(known) }
        let value = try codec.decode(stored)
        watch.keep(Box(value), of: stored, by: codec.id, at: changes)
        return value
    }

    /// The value that the key's codec has decoded.
    func value(_ known: (stored: PropertyListValue, value: AnyBox)) -> Value {
        unsafeDowncast(known.value, to: Box<Value>.self).value
    }

    /// Whether the value is stored in its present shape; see ``decoded(_:in:at:)``.
    func isCurrent(_ stored: PropertyListValue, in watch: EntryWatch? = nil, at changes: UInt64 = 0) -> Bool {
        do {
            _ = try present(stored, in: watch, at: changes)
            return true
        } catch {
            return false
        }
    }

    /// The value of the newest earlier shape that what is stored has.
    func migrated(_ stored: PropertyListValue) -> Value? {
        for migration in body.traits.migrations {
            do {
                return try migration.migrate(stored)
            } catch {
                continue
            }
        }
        return nil
    }
}

extension KeyTraits {
    /// Whether nothing that a user wrote turns a value into what is stored, or back.
    var runsNoUserCode: Bool {
        codec.isNative && OwnTypes.all.contains(ObjectIdentifier(Value.self))
    }
}

/// Types whose stored form is this library's or the system's, by themselves and as optionals.
private enum OwnTypes {
    static let all: Set<ObjectIdentifier> = {
        func pair<Value>(_ type: Value.Type) -> [ObjectIdentifier] {
            [ObjectIdentifier(type), ObjectIdentifier(Value?.self)]
        }
        let integers = pair(Int.self) + pair(Int64.self) + pair(Int32.self) + pair(UInt.self) + pair(UInt64.self) + pair(UInt32.self)
        let others = pair(Bool.self) + pair(Double.self) + pair(Float.self) + pair(String.self) + pair(Data.self) + pair(Date.self)
        return Set(integers + others + pair(URL.self) + pair(UUID.self) + pair(PropertyListValue.self))
    }()
}
