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
    let definition: KeyDefinition<Value>

    /// The entry's name in the property list. Any text; `.` and `/` have no meaning.
    public var name: String { definition.traits.name }
    /// When reading writes the default.
    public var persistsDefault: DefaultPersistence { definition.traits.persistsDefault }
    /// The value when nothing is stored and nothing registered; made when it is first needed, once.
    public var defaultValue: Value { definition.traits.lazyDefault.value }

    private init(
        _ name: String, _ codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = [],
        makeDefault: @escaping @Sendable () -> Value
    ) {
        self.init(
            KeyDefinition.Traits(
                name: name, persistsDefault: persistsDefault, codec: codec, lazyDefault: Once(makeDefault), isNil: Self.nilCheck()))
    }

    private init(_ traits: KeyDefinition<Value>.Traits) {
        self.init(KeyDefinition(traits))
    }

    init(_ definition: KeyDefinition<Value>) {
        self.definition = definition
    }

    // Decided once for the type: a cast for each write would cost more than the write.
    private static func nilCheck() -> @Sendable (Value) -> Bool {
        guard Value.self is any OptionalValue.Type else { return { _ in false } }
        return { ($0 as? any OptionalValue)?.isNil ?? false }
    }

    /// The same key with something about it changed.
    func with(_ change: (inout KeyDefinition<Value>.Traits) -> Void) -> StorageKey {
        var traits = definition.traits
        change(&traits)
        return StorageKey(traits)
    }
}

extension StorageKey where Value: Storable {
    /// Names an entry that has a value even when nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - persistsDefault: when reading writes the default; never by default.
    ///   - makeDefault: the value when nothing is stored; made when it is first needed, once.
    public init(
        _ name: String, persistsDefault: DefaultPersistence = [], default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        self.init(name, .native, persistsDefault: persistsDefault, makeDefault: makeDefault)
    }

    /// Names an entry after the computed property that returns the key: `var volume: StorageKey<Double> { .init(default: 0.8) }`.
    public init(default makeDefault: @autoclosure @escaping @Sendable () -> Value, name: String = #function) {
        self.init(name, .native, makeDefault: makeDefault)
    }
}

extension StorageKey {
    /// Names an entry whose value is stored by a codec.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - codec: how the value is stored.
    ///   - persistsDefault: when reading writes the default; never by default.
    ///   - makeDefault: the value when nothing is stored; made when it is first needed, once.
    public init(
        _ name: String, codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = [],
        default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        self.init(name, codec, persistsDefault: persistsDefault, makeDefault: makeDefault)
    }

    /// Names an entry that is nil when nothing is stored; setting nil removes it.
    public init<Wrapped: Storable>(_ name: String) where Value == Wrapped? {
        self.init(name, .native, makeDefault: { nil })
    }

    /// Names an entry after the computed property that returns the key: `var note: StorageKey<String?> { .init() }`.
    public init<Wrapped: Storable>(name: String = #function) where Value == Wrapped? {
        self.init(name, .native, makeDefault: { nil })
    }

    /// Names an entry whose value is stored by a codec and nil when nothing is stored; setting nil removes it.
    public init<Wrapped: Sendable>(_ name: String, codec: StorageCodec<Wrapped>) where Value == Wrapped? {
        self.init(name, codec.optional(), makeDefault: { nil })
    }
}

/// When reading a key writes its default.
public struct DefaultPersistence: OptionSet, Sendable, Hashable {
    /// The set as bits.
    public let rawValue: Int

    /// Makes a set of its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// When nothing is stored.
    public static let whenMissing = DefaultPersistence(rawValue: 1)
    /// When what is stored cannot be decoded, which is lost then.
    public static let onFailure = DefaultPersistence(rawValue: 2)
}

/// Tells whether a value of a type known only at run time is nil.
protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    /// Whether nothing is wrapped, at any depth.
    var isNil: Bool {
        switch self {
        case .none: true
        case .some(let wrapped as any OptionalValue): wrapped.isNil
        case .some: false
        }
    }
}
