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
    /// The entry's name in the property list. Any text; `.` and `/` have no meaning.
    public let name: String

    let codec: StorageCodec<Value>
    private let lazyDefault: LazyValue<Value>
    private let isNil: @Sendable (Value) -> Bool

    /// The value when nothing is stored and nothing registered; made when it is first needed, once.
    public var defaultValue: Value {
        lazyDefault.value
    }

    init(_ name: String, codec: StorageCodec<Value>, default makeDefault: @escaping @Sendable () -> Value) {
        self.name = name
        self.codec = codec
        lazyDefault = LazyValue(makeDefault)
        isNil = Self.nilCheck()
    }

    // Decided once for the type: a cast for each write would cost more than the write.
    private static func nilCheck() -> @Sendable (Value) -> Bool {
        guard Value.self is any OptionalValue.Type else { return { _ in false } }
        return { ($0 as? any OptionalValue)?.isNil ?? false }
    }
}

extension StorageKey where Value: StorageValue {
    /// Names an entry that has a value even when nothing is stored.
    public init(_ name: String, default makeDefault: @autoclosure @escaping @Sendable () -> Value) {
        self.init(name, codec: .native, default: makeDefault)
    }
}

extension StorageKey {
    /// Names an entry that is nil when nothing is stored; setting nil removes it.
    public init<Wrapped: StorageValue>(_ name: String) where Value == Wrapped? {
        self.init(name, codec: .native, default: { nil })
    }
}

extension StorageKey {
    /// What to store for a value, or nothing if the entry is to be removed.
    func stored(_ value: Value) throws(StorageError) -> PropertyListValue? {
        if isNil(value) { return nil }
        do {
            let stored = try codec.encode(value)
            try stored.validate()
            return stored
        } catch {
            throw StorageError.unencodable(key: name, because: error)
        }
    }

    /// The value that is stored.
    func decoded(_ stored: PropertyListValue) throws(StorageError) -> Value {
        do {
            return try codec.decode(stored)
        } catch {
            throw StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error)
        }
    }
}
