// What programs show about a setting besides its value.
extension AnyStoredValue {
    /// The texts of all values, if these can be listed, such as for completions: the names of an enumeration's cases that the rule of the
    /// key accepts, `true` and `false`. Empty for other types.
    public var allowedTexts: [String] { key.allowedTexts }

    /// The texts that ``set(text:)`` accepts, in words: `one of never, auto, always`, `a duration such as 100ms, 1.5s or 1m`, `a whole number, in
    /// 1...65535`; nil for a type with a text of its own, such as `String`.
    public var textForm: String? { key.textForm }

    /// The key's default as text; nil if it is nil. For a secret, `<redacted>`.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``.
    public var defaultText: String? {
        get throws(StorageError) { try key.defaultText() }
    }

    /// The stored value as text, also while a value of another ``source`` hides it; nil if none is stored. For a secret,
    /// `<redacted>`.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if it is not of the key's type.
    public var storedText: String? {
        get throws(StorageError) { try key.storedText(in: store) }
    }

    /// The names by which the sources of the store's overrides know the value: `--server-port`, `APP_SERVER_PORT`; see ``OverrideSource``.
    public var overrideNames: [String] {
        store.snapshot.overrides.flatMap { $0.names(of: key.entryName) }
    }
}

extension AnyStorageKey {
    fileprivate var allowedTexts: [String] {
        TextForm.names(of: Value.self).filter { text in
            do throws(StorageError) {
                _ = try storageKey.value(ofText: text)
                return true
            } catch {
                return false
            }
        }
    }

    fileprivate var textForm: String? {
        TextForm.form(of: Value.self, in: storageKey.definition.traits.ranges)
    }

    fileprivate func defaultText() throws(StorageError) -> String? {
        try storageKey.shown(storageKey.text(of: storageKey.defaultValue))
    }

    fileprivate func storedText(in store: ObservableStore) throws(StorageError) -> String? {
        let snapshot = store.snapshot.withoutLayers
        return snapshot.isSet(storageKey) ? try storageKey.shown(storageKey.text(of: snapshot.value(for: storageKey))) : nil
    }
}
