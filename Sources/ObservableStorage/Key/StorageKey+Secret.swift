extension StorageKey {
    /// The same key, whose value is a secret, such as a password or the token of a service.
    ///
    /// ```swift
    /// let token = StorageKey<String?>("token").secret()
    /// ```
    ///
    /// The value is in no text that this library makes: where a change, a snapshot or a commit is printed or dumped it is `<redacted>`, and
    /// so it is in ``KeyedStore/storedValues``; errors have the name and the type only, and the reason of a group's rule is told only if it
    /// does not contain the value. It is not mirrored in iCloud. What has the value, such as the property of a ``KeyedStore``, is not
    /// protected, nor is the file, which only this user can read: see ``StorageCodec/sealed(by:)`` for an encrypted one.
    ///
    /// Texts about all entries, such as that of a ``StoreSnapshot``, omit the values of an entry after this process has created a secret key
    /// of its name.
    public func secret() -> StorageKey {
        with { $0.isSecret = true }
    }

    package var isSecret: Bool { definition.traits.isSecret }
}

extension KeyReference: CustomReflectable {
    /// The name, without cached values.
    @usableFromInline var customMirror: Mirror {
        Mirror(self, children: ["name": entryName.text], ancestorRepresentation: .suppressed)
    }
}
