import FoundationSubset
import PropertyListCoding

/// The name of a stored value, its type, and its default value.
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

    /// The entry's name in the property list. Any text; `.` and `/` have no meaning, except that `scenes/ID/NAME` is the
    /// name of a value of a scene; see ``SceneStore``.
    ///
    /// For a value inside nested dictionaries, the path to it, with a `.` before each name: `.server.port`, whereas `server.port` is the
    /// name of an entry. In a path, `.` and `\` in a name are written as `\.` and `\\`.
    public var name: String { definition.entryName.text }
    var persistsDefault: DefaultPersistence { definition.traits.persistsDefault }
    /// The value if none is stored or registered; created once, when it is first needed, unless it is dynamic.
    public var defaultValue: Value { definition.traits.makeDefault() }

    private init(
        _ name: String, path: [String] = [], _ codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = .never,
        isNamedByFunction: Bool = false, makeDefault: @escaping @Sendable () -> Value
    ) {
        let once = Once(makeDefault)
        self.init(
            KeyDefinition(
                KeyDefinition.Traits(
                    entryName: EntryName(own: name, path: path, isFlag: Value.self == Bool.self || Value.self == Bool?.self),
                    persistsDefault: persistsDefault, isNamedByFunction: isNamedByFunction, codec: codec, makeDefault: { once.value },
                    isNil: Self.nilCheck())))
    }

    init(_ definition: KeyDefinition<Value>) {
        self.definition = definition
    }

    /// Creates a key whose name is that of the function in which it is created.
    private init(function name: String, _ codec: StorageCodec<Value>, makeDefault: @escaping @Sendable () -> Value) {
        precondition(
            name != "StorageKey",
            """
            A key in a stored property has to be named: StorageKey("volume", default: 0.8). Only in a computed property can it have the \
            property's name: static var volume: StorageKey<Double> { StorageKey(default: 0.8) }
            """)
        self.init(name, codec, isNamedByFunction: true, makeDefault: makeDefault)
    }

    // Determined once for the type: a cast for each write would cost more than the write.
    private static func nilCheck() -> @Sendable (Value) -> Bool {
        guard Value.self is any OptionalValue.Type else { return { _ in false } }
        return { ($0 as? any OptionalValue)?.isNil ?? false }
    }

    /// The same key with a description, for lists of settings; see ``KeyedStore/storedValues``.
    public func described(_ summary: String) -> StorageKey {
        with { $0.summary = summary }
    }

    func with(_ change: (inout KeyDefinition<Value>.Traits) -> Void) -> StorageKey {
        var traits = definition.traits
        change(&traits)
        return StorageKey(KeyDefinition(traits))
    }
}

// Defaults that change.
extension StorageKey {
    /// The same key with a default that each read evaluates, such as the name of the machine, or a value of another key.
    ///
    /// ```swift
    /// let name = StorageKey<String?>("name").dynamicDefault { ProcessInfo.processInfo.hostName }
    /// ```
    ///
    /// Observers are not notified when the default changes. It is not cached: such a key is read more slowly while no value is stored. It
    /// replaces the default of the initializer.
    ///
    /// - Parameter makeDefault: returns the value while none is stored, on any thread.
    public func dynamicDefault(_ makeDefault: @escaping @Sendable () -> Value) -> StorageKey {
        with { ($0.makeDefault, $0.hasDynamicDefault) = (makeDefault, true) }
    }
}

extension StorageKey where Value: Storable {
    /// Creates a key with a default value.
    ///
    /// `StorageKey("server", "port", default: 80)` is one value inside the dictionary "server", which is read, set and observed by itself.
    /// Edits of different values in the same dictionary, by other keys or by other processes, do not affect each other. Setting it creates
    /// the dictionaries that are missing, and fails if one of the names leads to a value that is not a dictionary. Removing it removes the
    /// dictionaries that have no other value. In changes and errors, it is `.server.port`; see ``name``.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - path: the names inside its dictionary, for one value inside nested dictionaries; none for the entry itself.
    ///   - persistsDefault: the condition under which reading writes the default; never by default.
    ///   - makeDefault: the value if none is stored; evaluated once, when it is first needed.
    public init(
        _ name: String, _ path: String..., persistsDefault: DefaultPersistence = .never,
        default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        self.init(name, path: path, .native, persistsDefault: persistsDefault, makeDefault: makeDefault)
    }

    /// Creates a key named after the computed property that returns it: `var volume: StorageKey<Double> { .init(default: 0.8) }`.
    ///
    /// In a stored property, `let` or `static let`, it would have the name of the type that the property belongs to, as all keys there.
    public init(default makeDefault: @autoclosure @escaping @Sendable () -> Value, name: String = #function) {
        self.init(function: name, .native, makeDefault: makeDefault)
    }
}

extension StorageKey {
    /// Creates a key whose value is stored with a codec; see ``init(_:_:persistsDefault:default:)``.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - path: the names inside its dictionary, for one value inside nested dictionaries; none for the entry itself.
    ///   - codec: converts the value to its stored form.
    ///   - persistsDefault: the condition under which reading writes the default; never by default.
    ///   - makeDefault: the value if none is stored; evaluated once, when it is first needed.
    public init(
        _ name: String, _ path: String..., codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = .never,
        default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        self.init(name, path: path, codec, persistsDefault: persistsDefault, makeDefault: makeDefault)
    }
}

// Keys that are nil if no value is stored; setting nil removes the value.
extension StorageKey {
    /// Creates a key that is nil if no value is stored; see ``init(_:_:persistsDefault:default:)``.
    ///
    /// - Parameters:
    ///   - name: the name of the entry.
    ///   - path: the names inside its dictionary, for one value inside nested dictionaries; none for the entry itself.
    public init<Wrapped: Storable>(_ name: String, _ path: String...) where Value == Wrapped? {
        self.init(name, path: path, .native, makeDefault: { nil })
    }

    /// Creates a key named after the computed property that returns it: `var note: StorageKey<String?> { .init() }`.
    public init<Wrapped: Storable>(name: String = #function) where Value == Wrapped? {
        self.init(function: name, .native, makeDefault: { nil })
    }

    /// Creates a key whose value is stored with a codec, and nil if no value is stored.
    public init<Wrapped: Sendable>(_ name: String, codec: StorageCodec<Wrapped>) where Value == Wrapped? {
        self.init(name, codec.optional(), makeDefault: { nil })
    }
}

// The compiler chooses these only if no other initializer fits: their message helps more than an unmet requirement.
extension StorageKey {
    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Value' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init(
        _ name: String, _ path: String..., persistsDefault: DefaultPersistence = .never,
        default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        fatalError("unavailable")
    }

    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Value' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init(default makeDefault: @autoclosure @escaping @Sendable () -> Value, name: String = #function) {
        fatalError("unavailable")
    }

    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Wrapped' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init<Wrapped: Sendable>(_ name: String) where Value == Wrapped? {
        fatalError("unavailable")
    }

    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Wrapped' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init<Wrapped: Sendable>(name: String = #function) where Value == Wrapped? {
        fatalError("unavailable")
    }
}

/// The condition under which reading a key writes its default. Nothing is written while a layer has a value for it: a registered one, or one
/// of an administrator.
public enum DefaultPersistence: Sendable, Hashable {
    /// Reading writes nothing.
    case never
    /// If no value is stored.
    case whenMissing
    /// If the stored value cannot be decoded; it is overwritten.
    case onFailure
    /// In both cases.
    case always
}
