package import PropertyListCoding

/// A key whose entry is kept in sync with a remote one, as in iCloud.
package struct MirroredKey: Sendable {
    /// The name of the entry, in the store and remotely.
    package let name: String
    /// The reason why the key cannot be mirrored; nil if it can.
    package let obstacle: String?
    /// The stored form of the default, if reading the key stores it; nil for most keys.
    package let persistedDefault: PropertyListValue?
    /// Converts a remote value to the form that the store keeps, or throws if it is not a value of the key.
    package let stored: @Sendable (PropertyListValue) throws(StorageError) -> PropertyListValue
    /// The edits that set the value, or remove it: those of setting the key, which concern its earlier names as well.
    fileprivate let edits: @Sendable (PropertyListValue?, (String) -> PropertyListValue?) throws(StorageError) -> EntryEdits

    package init(
        name: String, obstacle: String? = nil, persistedDefault: PropertyListValue? = nil,
        stored: @escaping @Sendable (PropertyListValue) throws(StorageError) -> PropertyListValue = { $0 }
    ) {
        self.init(name: name, obstacle, persistedDefault, stored) { value, _ in [name: value] }
    }

    fileprivate init(
        name: String, _ obstacle: String?, _ persistedDefault: PropertyListValue?,
        _ stored: @escaping @Sendable (PropertyListValue) throws(StorageError) -> PropertyListValue,
        edits: @escaping @Sendable (PropertyListValue?, (String) -> PropertyListValue?) throws(StorageError) -> EntryEdits
    ) {
        (self.name, self.obstacle, self.persistedDefault) = (name, obstacle, persistedDefault)
        (self.stored, self.edits) = (stored, edits)
    }
}

// The interface of a store for mirrors.
extension ObservableStore {
    /// A value to be replaced if it is the expected one, and an entry about it that is set in the same edit.
    package typealias Replacement = (
        key: MirroredKey, old: PropertyListValue?, new: PropertyListValue?, metadata: (name: String, value: PropertyListValue)
    )

    package nonisolated var isReadOnly: Bool { backend.isReadOnly }

    /// Whether the storage has been read or written at least once, so that the stored entries are known.
    package nonisolated var isOpened: Bool { cache.update { $0.entries.isOpened } }

    /// Delivers an error to the readers of ``failures``.
    package nonisolated func report(_ error: StorageError) {
        reports.report(error)
    }

    /// Calls `onChange` for each later change of an entry, and `onFinish` when the store is closed.
    package nonisolated func observeEntry(
        _ name: String, _ onChange: @escaping @Sendable (Change<PropertyListValue?>) -> Void, onFinish: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        cache.observe(StorageKey<PropertyListValue?>(name), Observer(onReceive: onChange, onFinish: onFinish))
    }

    /// The stored values of some names at one moment.
    package nonisolated func entries(of names: [String]) -> [String: PropertyListValue] {
        cache.update { state in names.reduce(into: [:]) { $0[$1] = state.entries[$1] } }
    }

    /// Sets values that came from another device, as one revision with the origin ``ChangeOrigin/external``.
    ///
    /// If another process changes one of them before they are written, none of them is written, and the stored values replace them.
    ///
    /// - Returns: the entries that do not have the expected value, and were left unchanged, with their present values.
    package nonisolated func replace(_ replacements: [Replacement]) throws(StorageError) -> [(String, PropertyListValue?)] {
        if replacements.isEmpty { return [] }
        var skipped: [(String, PropertyListValue?)] = []
        try synchronizer.change { (state) throws(StorageError) in
            var (edits, condition) = (EntryEdits(), EntryEdits())
            for replacement in replacements {
                let key = replacement.key
                let present = state.entries[key.name]
                guard present == replacement.old else {
                    skipped.append((key.name, present))
                    continue
                }
                condition.updateValue(replacement.old, forKey: key.name)
                edits.merge(try key.edits(replacement.new) { state.entries[$0] }) { $1 }
                edits.updateValue(replacement.metadata.value, forKey: replacement.metadata.name)
            }
            return try state.edit(edits, origin: .external, condition: condition)
        }
        return skipped
    }

    package nonisolated func setMetadata(_ edits: EntryEdits) throws(StorageError) {
        if edits.isEmpty { return }
        try synchronizer.change { (state) throws(StorageError) in try state.edit(edits) }
    }

    package nonisolated func mirrored(_ key: some AnyStorageKey) -> MirroredKey {
        let key = key.storageKey
        let name = key.definition.entryName
        guard name.path.isEmpty else {
            return MirroredKey(
                name: name.text, obstacle: "it is a value inside a dictionary; mirror a key of the whole dictionary instead")
        }
        // The mirror only knows the present name and type.
        do { try migrateValue(of: key) } catch { reports.report(error) }
        return MirroredKey(
            // A default that cannot be stored is never written.
            name: name.own, nil, key.persistsDefault == .never ? nil : key.storedForm(of: key.defaultValue),
            { [backend] value throws(StorageError) in
                let decoded = try key.decoded(value)
                let present = key.isPresentShape(value) ? value : try key.stored(decoded)
                return try backend.accepted(present ?? value, for: key.name)
            },
            edits: { value, stored throws(StorageError) in try key.edits(storing: value, over: stored) })
    }
}
