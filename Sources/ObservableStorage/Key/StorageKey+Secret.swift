extension StorageKey {
    /// The same key, whose value is a secret, such as a password or the token of a service.
    ///
    /// ```swift
    /// let token = StorageKey<String?>("token").secret()
    /// ```
    ///
    /// No text that this library produces contains the value: it is `<redacted>` where a change, a snapshot or a commit is printed or dumped, and
    /// in ``KeyedStore/storedValues``. Errors have the name and the type only, and the reason of a group's rule only if that does not contain the
    /// value. It is not mirrored in iCloud. The value itself, as read from a ``KeyedStore``, is not protected, and neither is the file, which only
    /// this user can read: see ``StorageCodec/sealed(by:)`` for an encrypted value.
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
