extension StorageKey where Value: StorageValue {
    /// Names an entry that has a value even when nothing is stored.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - persistsDefault: when reading writes the default; never by default.
    ///   - makeDefault: the value when nothing is stored; made when it is first needed, once.
    public init(
        _ name: String, persistsDefault: DefaultPersistence = [], default makeDefault: @autoclosure @escaping @Sendable () -> Value
    ) {
        self.init(name, codec: .native, persistsDefault: persistsDefault, default: makeDefault)
    }

    /// Names an entry after the computed property that returns the key: `var volume: StorageKey<Double> { .init(default: 0.8) }`.
    public init(default makeDefault: @autoclosure @escaping @Sendable () -> Value, name: String = #function) {
        self.init(name, codec: .native, default: makeDefault)
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
        self.init(name, codec: codec.identified(), persistsDefault: persistsDefault, default: makeDefault)
    }

    /// Names an entry that is nil when nothing is stored; setting nil removes it.
    public init<Wrapped: StorageValue>(_ name: String) where Value == Wrapped? {
        self.init(name, codec: .native, default: { nil })
    }

    /// Names an entry after the computed property that returns the key: `var note: StorageKey<String?> { .init() }`.
    public init<Wrapped: StorageValue>(name: String = #function) where Value == Wrapped? {
        self.init(name, codec: .native, default: { nil })
    }

    /// Names an entry whose value is stored by a codec and nil when nothing is stored; setting nil removes it.
    public init<Wrapped: Sendable>(_ name: String, codec: StorageCodec<Wrapped>) where Value == Wrapped? {
        self.init(name, codec: codec.optional().identified(), default: { nil })
    }
}
