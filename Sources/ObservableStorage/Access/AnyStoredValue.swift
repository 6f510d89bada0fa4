public import PropertyListCoding

/// The value of a key of any type, by name and as a property-list value: for programs that list and set all their settings.
///
/// ```swift
/// for setting in settings.storedValues {
///     print(setting.name, setting.typeName, try setting.value ?? "", setting.summary ?? "")
/// }
/// try settings.storedValues.first { $0.name == "port" }?.set(text: "8080")
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

    /// The value that reading the key returns: the stored one, or else the registered one, or else the default; nil if it is nil.
    ///
    /// For a secret, the text `<redacted>`, which it cannot be set to.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public var value: PropertyListValue? {
        get throws(StorageError) { try key.storedValue(in: store) }
    }

    /// Whether a value is stored.
    public var isSet: Bool { key.isSet(in: store) }

    /// Sets the value, if it is one of the key's type.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if it is not, or the error of ``ObservableStore/set(_:for:muting:)``;
    ///   nothing changes then.
    public func set(_ value: PropertyListValue) throws(StorageError) {
        try key.set(value, in: store)
    }

    /// Sets the value from text as a person types it.
    ///
    /// The text is stored as it is if the key's type accepts a string, as an enumeration does; otherwise it is read as a Boolean (`true`,
    /// `false`, `yes`, `no`), a number, a date (ISO 8601), a JSON array or dictionary, or data (Base64), whichever the key's type accepts.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if none is, or the error of ``ObservableStore/set(_:for:muting:)``;
    ///   nothing changes then.
    public func set(text: String) throws(StorageError) {
        var failure: StorageError?
        for value in ValueSyntax.readings(of: text) {
            do throws(StorageError) {
                return try key.set(value, in: store)
            } catch .undecodable(let key, let expected, let found, _) {
                switch value {
                // Any text is a string, and often Base64 as well: these mismatches do not explain the error.
                case .string, .data: continue
                default: failure = failure ?? .undecodable(key: key, expected: expected, found: found)
                }
            }
        }
        throw failure ?? .undecodable(key: name, expected: typeName, found: isSecret ? "a text" : "the text \"\(text)\"")
    }

    /// Removes the stored value.
    public func remove() {
        key.remove(from: store)
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
}

extension AnyStorageKey {
    fileprivate func storedDefault() throws(StorageError) -> PropertyListValue? {
        try storageKey.shown(storageKey.stored(storageKey.defaultValue))
    }

    fileprivate func storedValue(in store: ObservableStore) throws(StorageError) -> PropertyListValue? {
        try storageKey.shown(storageKey.stored(store.value(for: storageKey)))
    }

    fileprivate func set(_ value: PropertyListValue, in store: ObservableStore) throws(StorageError) {
        if isSecret, value == .string(SecretNames.placeholder) {
            throw .undecodable(key: storageKey.name, expected: "a secret", found: "\(SecretNames.placeholder), which stands for it")
        }
        try store.set(storageKey.decoded(value), for: storageKey)
    }

    fileprivate func isSet(in store: ObservableStore) -> Bool {
        store.isSet(storageKey)
    }

    fileprivate func remove(from store: ObservableStore) {
        store.remove(storageKey)
    }
}

extension StorageKey {
    /// The stored form for a list of settings, in which a secret is not told.
    func shown(_ stored: PropertyListValue?) -> PropertyListValue? {
        isSecret && stored != nil ? .string(SecretNames.placeholder) : stored
    }
}
