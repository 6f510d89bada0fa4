import PropertyListCoding

// What a mirror reads in its store, and does to it.
extension ObservableStore {
    /// A value to be replaced if it is the expected one, and an entry that is set with it.
    typealias Replacement = (
        name: String, old: PropertyListValue?, new: PropertyListValue?, note: (name: String, value: PropertyListValue)
    )

    /// Sets values that came from another device, as one revision with the origin ``ChangeOrigin/external``.
    ///
    /// If another process has changed one of them before they are written, they are all replaced by what is stored.
    ///
    /// - Returns: the present values of those that have another one than expected, which are left as they are.
    nonisolated func replace(_ replacements: [Replacement]) throws(StorageError) -> [(String, PropertyListValue?)] {
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
    nonisolated func note(_ edits: EntryEdits) throws(StorageError) {
        if edits.isEmpty { return }
        try synchronizer.change(retaining: self) { (state) throws(StorageError) in try state.edit(edits) }
    }

    /// The stored values of some names at one moment.
    nonisolated func entries(of names: [String]) -> [String: PropertyListValue] {
        cache.update { state in names.reduce(into: [:]) { $0[$1] = state.entries[$1] } }
    }

    /// A key as the state of a mirror knows it.
    nonisolated func mirrored(_ key: some AnyStorageKey) -> CloudMirrorState.MirroredKey {
        let key = key.storageKey
        let name = key.definition.entryName
        guard name.path.isEmpty else {
            return CloudMirrorState.MirroredKey(
                name: name.text, obstacle: "it is a value inside a dictionary; mirror a key of the whole dictionary instead")
        }
        // The cloud has one name, and one type.
        do { try migrateValue(of: key) } catch { reports.report(error) }
        return CloudMirrorState.MirroredKey(
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
