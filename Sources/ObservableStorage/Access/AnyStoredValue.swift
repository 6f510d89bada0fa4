public import PropertyListCoding

/// The value of a key of any type, by name and as a property-list value: for programs that list and set all their settings.
///
/// ```swift
/// for setting in settings.storedValues {
///     print(setting.name, setting.typeName, try setting.value ?? "", setting.summary ?? "")
/// }
/// try settings.anyValue(named: "port").set(text: "8080")
/// ```
public struct AnyStoredValue: Sendable {
    /// The name of the key in the store, also for a value of a scene.
    public let name: String
    /// The description of the key; see ``StorageKey/described(_:)``.
    public let summary: String?
    /// The name of the value's type: `Int`, `Optional<String>`.
    public let typeName: String
    /// Whether the value is a secret, instead of which ``value`` and ``defaultValue`` are the text `<redacted>`; see
    /// ``StorageKey/secret()``.
    public var isSecret: Bool { key.isSecret }

    let key: any AnyStorageKey
    let store: ObservableStore

    init<Value>(_ key: StorageKey<Value>, in store: ObservableStore) {
        name = key.fallback?.name ?? key.name
        summary = key.definition.traits.summary
        typeName = "\(Value.self)"
        (self.key, self.store) = (key, store)
    }

    /// The key's default; nil if it is nil, `<redacted>` for a secret.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``.
    public var defaultValue: PropertyListValue? {
        get throws(StorageError) { try key.storedDefault() }
    }

    /// The value that reading the key returns: the override, or else the stored one, the registered one, or the default; nil if it is nil.
    ///
    /// For a secret, the text `<redacted>`, which it cannot be set to.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public var value: PropertyListValue? {
        get throws(StorageError) { try key.storedValue(in: store) }
    }

    /// Whether a value is stored.
    public var isSet: Bool { store.cache.update { state in key.entryName.isStored { state.entries[$0] } } }

    /// Sets the value, if it is one of the key's type.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if it is not, or the error of ``ObservableStore/set(_:for:muting:)``;
    ///   nothing changes then.
    public func set(_ value: PropertyListValue) throws(StorageError) {
        try key.set(value, in: store)
    }

    /// The value as text, which ``set(text:)`` reads; nil if it is nil. For a secret, `<redacted>`, which it does not read.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public var text: String? {
        get throws(StorageError) { try key.text(in: store) }
    }

    /// Where the value comes from at present; a value counts even if it cannot be decoded.
    public var source: ValueSource { store.source(of: key.entryName) }

    /// Sets the value from text as a person types it, in the syntax that arguments and variables of the environment have, too; see
    /// ``OverrideSource``.
    ///
    /// - A string is the text as it is. A value of an enumeration is its raw value or, if the type is `CaseIterable`, the name of its case.
    /// - A Boolean is `true`, `yes`, `on`, `1`, `false`, `no`, `off` or `0`; a duration is `1.5s`, `100ms` or `1m30s`; a date is ISO 8601;
    ///   data is Base64.
    /// - A list is `a,b` or a JSON array. Dictionaries and `Codable` types are JSON, in which dates, data and numbers that JSON does not have
    ///   are `{"$date":"…"}`, `{"$data":"…"}` and `{"$real":"nan"}`. `prefs read` prints the same.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)``, which names what would fit, if it is not a value of the key's type;
    ///   or the error of ``ObservableStore/set(_:for:muting:)``. Nothing changes then.
    public func set(text: String) throws(StorageError) {
        try key.set(text: text, in: store)
    }

    /// Removes the stored value.
    public func remove() {
        key.remove(from: store)
    }
}

extension AnyStoredValue: CustomStringConvertible {
    /// The value as ``text``; empty if it is nil or cannot be read.
    public var description: String {
        do throws(StorageError) { return try text ?? "" } catch { return "" }
    }
}

extension KeyedStore {
    /// The values of all keys that are stored properties of the group or of nested groups, in the order of their declaration.
    public var storedValues: [AnyStoredValue] {
        func value(_ key: some AnyStorageKey) -> AnyStoredValue {
            AnyStoredValue(table.checked(key.storageKey), in: store)
        }
        return table.storageKeys.map { value($0) }
    }

    /// The value of a key by its name; see ``storedValues``.
    ///
    /// - Throws: ``StorageError/unknownName(key:group:nearest:)`` if none of the keys has the name.
    public func anyValue(named name: String) throws(StorageError) -> AnyStoredValue {
        let values = storedValues
        guard let value = values.first(where: { $0.name == name }) else {
            throw .unknownName(key: name, group: String(describing: Keys.self), nearest: name.nearest(among: values.map(\.name)))
        }
        return value
    }
}

extension AnyStorageKey {
    fileprivate func storedDefault() throws(StorageError) -> PropertyListValue? {
        try storageKey.shown(storageKey.stored(storageKey.defaultValue))
    }

    fileprivate func storedValue(in store: ObservableStore) throws(StorageError) -> PropertyListValue? {
        try storageKey.shown(storageKey.stored(store.value(for: storageKey)))
    }

    fileprivate func set(_ value: PropertyListValue, in store: ObservableStore) throws(StorageError) {
        if case .string(let text) = value { try requireSecret(text) }
        try store.set(storageKey.decoded(value), for: storageKey)
    }

    fileprivate func text(in store: ObservableStore) throws(StorageError) -> String? {
        try storageKey.shown(storageKey.text(of: store.value(for: storageKey)))
    }

    fileprivate func set(text: String, in store: ObservableStore) throws(StorageError) {
        try requireSecret(text)
        try store.set(storageKey.value(ofText: text), for: storageKey)
    }

    /// Refuses the text that a list shows instead of a secret.
    private func requireSecret(_ text: String) throws(StorageError) {
        guard isSecret, text == SecretNames.placeholder else { return }
        throw .undecodable(key: storageKey.name, expected: "a secret", found: "\(text), which stands for it")
    }

    fileprivate func remove(from store: ObservableStore) {
        store.remove(storageKey)
    }
}

extension StorageKey {
    /// A stored form for a list of settings: `<redacted>` for a secret.
    func shown(_ stored: PropertyListValue?) -> PropertyListValue? {
        isSecret ? stored.map { _ in .string(SecretNames.placeholder) } : stored
    }

    /// The same for a text.
    func shown(_ text: String?) -> String? {
        isSecret ? text.map { _ in SecretNames.placeholder } : text
    }
}
