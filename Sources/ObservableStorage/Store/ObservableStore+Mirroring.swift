package import PropertyListCoding

/// A key whose entry is kept equal to one elsewhere, as in iCloud.
package struct MirroredKey: Sendable {
    /// The name of the entry, equal in the store and elsewhere.
    package let name: String
    /// The reason why the key cannot be mirrored; nil if it can.
    package let obstacle: String?
    /// The stored form of a default that reading the key writes; nil for most keys.
    package let persistedDefault: PropertyListValue?
    /// Returns a value from elsewhere as the store will hold it, or throws if it is not a value of the key.
    package let stored: @Sendable (PropertyListValue) throws(StorageError) -> PropertyListValue

    package init(
        name: String, obstacle: String? = nil, persistedDefault: PropertyListValue? = nil,
        stored: @escaping @Sendable (PropertyListValue) throws(StorageError) -> PropertyListValue = { $0 }
    ) {
        (self.name, self.obstacle, self.persistedDefault, self.stored) = (name, obstacle, persistedDefault, stored)
    }
}

// What a mirror reads in its store, and does to it.
extension ObservableStore {
    /// A value to be replaced if it is the expected one, and an entry that is set with it.
    package typealias Replacement = (
        name: String, old: PropertyListValue?, new: PropertyListValue?, note: (name: String, value: PropertyListValue)
    )

    /// Whether the store only reads its storage.
    package nonisolated var isReadOnly: Bool { backend.isReadOnly }

    /// Whether the storage was read or written at least once, so that the stored entries are known.
    package nonisolated var isOpened: Bool { availabilityState.isOpened }

    /// Delivers an error to the readers of ``failures``.
    package nonisolated func report(_ error: StorageError) {
        reports.report(error)
    }

    /// Calls a closure with each change of an entry from now on, and another one when the store has ended.
    package nonisolated func observeEntry(
        _ name: String, _ onChange: @escaping @Sendable (Change<PropertyListValue?>) -> Void, onFinish: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        cache.observe(
            StorageKey<PropertyListValue?>(name), initial: false, Observer(onReceive: onChange, onFinish: { _ in onFinish() }))
    }

    /// The stored values of some names at one moment.
    package nonisolated func entries(of names: [String]) -> [String: PropertyListValue] {
        cache.update { state in names.reduce(into: [:]) { $0[$1] = state.entries[$1] } }
    }

    /// Sets values that came from another device, as one revision with the origin ``ChangeOrigin/external``.
    ///
    /// If another process has changed one of them before they are written, they are all replaced by what is stored.
    ///
    /// - Returns: the present values of those that have another one than expected, which are left as they are.
    package nonisolated func replace(_ replacements: [Replacement]) throws(StorageError) -> [(String, PropertyListValue?)] {
        if replacements.isEmpty { return [] }
        var missed: [(String, PropertyListValue?)] = []
        try synchronizer.change(retaining: self) { (state) throws(StorageError) in
            var (edits, condition) = (EntryEdits(), EntryEdits())
            for replacement in replacements {
                let present = state.entries[replacement.name]
                guard present == replacement.old else {
                    missed.append((replacement.name, present))
                    continue
                }
                condition.updateValue(replacement.old, forKey: replacement.name)
                edits.updateValue(replacement.new, forKey: replacement.name)
                edits.updateValue(replacement.note.value, forKey: replacement.note.name)
            }
            return try state.edit(edits, origin: .external, condition: condition)
        }
        return missed
    }

    /// Sets entries that describe others.
    package nonisolated func note(_ edits: EntryEdits) throws(StorageError) {
        if edits.isEmpty { return }
        try synchronizer.change(retaining: self) { (state) throws(StorageError) in try state.edit(edits) }
    }

    /// A key as a mirror knows it.
    package nonisolated func mirrored(_ key: some AnyStorageKey) -> MirroredKey {
        let key = key.storageKey
        let name = key.definition.entryName
        guard name.path.isEmpty else {
            return MirroredKey(
                name: name.text, obstacle: "it is a value inside a dictionary; mirror a key of the whole dictionary instead")
        }
        // The mirror has one name, and one type.
        do { try migrateValue(of: key) } catch { reports.report(error) }
        return MirroredKey(
            name: name.own, persistedDefault: key.persistsDefault.isEmpty ? nil : persistedDefault(of: key),
            stored: { [backend] value throws(StorageError) in
                let decoded = try key.decoded(value)
                let present = key.isPresentShape(value) ? value : try key.stored(decoded)
                return try backend.accepted(present ?? value, for: key.name)
            })
    }

    private nonisolated func persistedDefault<Value>(of key: StorageKey<Value>) -> PropertyListValue? {
        do {
            return try key.stored(key.defaultValue)
        } catch {
            // Such a default is never written.
            return nil
        }
    }
}
