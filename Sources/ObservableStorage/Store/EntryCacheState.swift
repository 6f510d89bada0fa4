import PropertyListCoding

/// The contents of a store in memory, as a value: entries, their revision, and the schedule of writing their edits.
struct EntryCacheState: Sendable {
    var entries: EntryTable
    var revision: UInt64 = 0
    /// The revision of the storage whose changes are in the entries; nil if it has none.
    var storageRevision: StorageRevision?
    /// How much the storage accepts in one edit.
    var limits = StorageLimits()
    var layers = ValueLayers()
    /// The scopes in which values are not set any more.
    private(set) var discardedScopes = DiscardedScopes()
    var isClosed = false
    /// The file of a read-only store; nil for another store.
    var readOnlyFile: String?
    var hasAllObservers = false
    /// The entries that threads have changed while closures of edits run there, the innermost last, by ``DeliveryThread/number``. Of a
    /// name's own entry, only changes of the value at its path count.
    var ownChanges: [UInt64: [(name: EntryName, changed: Set<String>)]] = [:]
    /// Whether a change of any entry is posted, although nobody observes that entry.
    var postsAllChanges: Bool { hasAllObservers || !ownChanges.isEmpty }
    var flushes = FlushSchedule()
    var log: EditLog
    /// Values that reading a key would have written, and that cannot be stored, by the name of the entry.
    var refusedMigrations: [String: PropertyListValue] = [:]

    init(entries: StoredValues, store: UInt64, log: EditLog = EditLog()) {
        self.log = log
        self.entries = EntryTable(entries, store: store)
    }

    // These are mutating so that their closures refer to the state, which they would copy.

    /// The stored, the fallback and the registered value of a name.
    mutating func entry(_ name: EntryName) -> StoredEntry {
        var entry = layers.entry(name) { entries[$0] }
        entry.isUnread = isUnread(name)
        return entry
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    mutating func earlier(_ name: EntryName) -> EarlierValues {
        layers.earlier(name, { entries[$0] }, { entries.entry($0)?.content.history })
    }

    /// Sets the value that is used while none is stored, and returns the previous one.
    mutating func register(_ value: PropertyListValue?, for name: String) -> PropertyListValue? {
        entries.entry(name)?.countChange()
        return layers.registered.set(value, for: name)
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameters:
    ///   - principal: the entry to which the others belong, as its earlier names; nil if they are independent.
    ///   - condition: the values that must still be stored when the edits are written; otherwise the edits are discarded.
    ///   - paths: the paths of the edited values, for entries of which not all is edited.
    mutating func edit(
        _ edits: EntryEdits, of principal: String? = nil, origin: ChangeOrigin = .local, condition: EntryEdits = [:],
        at paths: EditedPaths = [:]
    ) throws(StorageError) -> [EntryChange] {
        try requireEditable()
        try limits.requireFitting(edits)
        return apply(
            edits, origin: origin, isEdit: true, condition: condition.isEmpty ? nil : whatIsStored(of: condition), of: principal,
            at: paths)
    }

    /// Sets or removes the value of a key, as one revision.
    mutating func edit<Value>(_ key: StorageKey<Value>, storing stored: PropertyListValue?) throws(StorageError) -> [EntryChange] {
        if stored != nil { try requireSettable(key.definition) }
        if key.definition.editsValueInside, let changes = try edit(stored, at: key.definition.entryName) { return changes }
        return try edit(try key.edits(storing: stored) { entries[$0] }, of: key.definition.entryName.own, at: key.editedPaths)
    }

    /// Edits one value inside the dictionary of an entry, as one revision: in place, if the dictionary is not shared.
    ///
    /// - Returns: nil if that is not possible, because the edit has to be made as one of the whole entry.
    private mutating func edit(_ value: PropertyListValue?, at name: EntryName) throws(StorageError) -> [EntryChange]? {
        let entry = entries.ensureEntry(name.own)
        let hasEarlier = name.earlier.contains { !entries.isOpened || entries[$0] != nil || entries.pending($0) != nil }
        guard !hasEarlier, !limits.applyToSizes, !(log.isOn && entry.content.isPendingWhole) else { return nil }
        try requireEditable()
        let isObservedAround = postsAllChanges || entry.content.observers.contains { name.isInside($0.name) }
        // Only for observers: while it is kept, the edit copies the dictionary.
        var old = isObservedAround ? entry.content.value : nil
        var replaced: Entry.Replaced = (value, nil)
        guard try entries.exchange(entry, &replaced, at: name, in: revision + 1) else { return [] }
        revision += 1
        if log.isOn {
            log.append([LoggedEdit(key: name.own, path: name.path, over: replaced.value.fingerprint, value: value, sequence: revision)])
        }
        // Nothing is removed that is known.
        if replaced.value == nil, value == nil { return [] }
        var new = entry.content.value
        if !isObservedAround {
            // Observers see the edited value only, or what is inside it.
            (old, new) = (try name.replacing(replaced.value, in: nil), try name.replacing(value, in: nil))
        }
        return [change(entry, from: (old, replaced.history), to: new, origin: .local, revision: revision)]
    }

    // An edit made from an unwritten edit has the condition of that edit, which is empty for an edit by user code.
    private func whatIsStored(of condition: EntryEdits) -> EntryEdits {
        condition.reduce(into: EntryEdits()) { stored, expected in
            if let edit = entries.pending(expected.key) {
                stored.merge(edit.condition) { $1 }
            } else {
                stored.updateValue(expected.value, forKey: expected.key)
            }
        }
    }

    /// Throws an error if no edits are accepted.
    func requireEditable() throws(StorageError) {
        if isClosed { throw .closed }
        if let readOnlyFile { throw .readOnly(file: readOnlyFile) }
    }

    /// Throws an error if the value of a key is mandatory, or its scope was discarded.
    func requireSettable(_ key: KeyReference) throws(StorageError) {
        let name = key.entryName
        if let scope = key.scope, discardedScopes.contains(scope) { throw .discardedScene(key: name.text) }
        if layers.mandatory(name) != nil { throw .mandatory(key: name.text) }
    }

    /// Whether the entries still have the expected values.
    func isCurrent(_ expected: EntryEdits) -> Bool {
        expected.allSatisfy { entries[$0.key] == $0.value }
    }

    /// Whether entries have the same values as at an earlier revision; all entries if there are no names.
    func isCurrent(_ names: Set<String>?, in found: EntryValues) -> Bool {
        if revision == found.revision { return true }
        guard let names else { return false }
        return names.allSatisfy { name in
            // An entry that was removed from the table has no revision any more.
            let isSet = found[name] != nil
            guard let entry = entries.entry(name) else { return isSet == (entries[name] != nil) }
            return entry.content.history.revision <= found.revision && isSet == (entry.content.value != nil)
        }
    }

    /// Removes the entries of scopes, as ``remove(where:)`` does, and accepts no values there until they are opened again.
    ///
    /// - Parameters:
    ///   - known: a scope that is discarded even if it has no entries.
    ///   - scope: the discarded scope to which the entry of a name belongs; nil for an entry that is kept.
    mutating func discard(
        _ known: KeyPrefix?, _ scope: @escaping @Sendable (String) -> KeyPrefix?
    ) throws(StorageError) -> [EntryChange] {
        let scopes = Set([known].compactMap(\.self) + entries.names.compactMap(scope))
        let changes = try remove { scope($0) != nil }
        discardedScopes.insert(scopes)
        return changes
    }

    /// Applies values that are on disk already, as one revision. A pending edit of the same entry takes precedence.
    mutating func merge(_ edits: EntryEdits, origin: ChangeOrigin) -> [EntryChange] {
        if log.isOn, entries.hasPending { logAgain(over: edits) }
        return apply(entries.hasPending ? edits.reduce(into: [:]) { addPending(to: $1, in: &$0) } : edits, origin: origin)
    }

    private func addPending(to edit: EntryEdits.Element, in edits: inout EntryEdits) {
        guard let pending = entries.pending(edit.key) else { return edits[edit.key] = .some(edit.value) }
        if pending.paths.isEmpty { return }
        do throws(StorageError) {
            edits[edit.key] = .some(try pending.value(of: edit.key, over: edit.value))
        } catch {
            // Writing the pending edit will fail for the same reason, which is reported then.
        }
    }

    /// Logs the pending edits of entries whose stored values are different ones now: they will be made over these.
    private mutating func logAgain(over stored: EntryEdits) {
        for (name, value) in stored {
            guard let pending = entries.pending(name) else { continue }
            for edit in pending.logged(name, over: value, pending.value, sequence: revision) { log.append([edit], isAwaited: false) }
        }
    }

    /// Sets the values of entries, as one revision.
    ///
    /// - Parameter isEdit: whether they are to be written; otherwise they are those of the storage.
    mutating func apply(
        _ edits: EntryEdits, origin: ChangeOrigin, isEdit: Bool = false, condition: EntryEdits? = nil, of principal: String? = nil,
        at paths: EditedPaths = [:]
    ) -> [EntryChange] {
        let revision = revision + 1
        var changes: [EntryChange] = []
        var logged: [LoggedEdit] = []
        var isEdited = false
        for (name, value) in edits {
            let entry = entries.ensureEntry(name)
            var replaced: Entry.Replaced = (value, nil)
            guard
                entries.exchange(
                    entry, &replaced, in: revision, isEdit: isEdit, condition: condition, principal: principal,
                    paths: paths.isEmpty ? nil : paths[name])
            else { continue }
            isEdited = true
            // Not if nothing is removed that is known.
            if replaced.value != nil || value != nil {
                changes.append(
                    change(
                        entry, from: replaced, to: value, origin: origin, revision: revision,
                        storageRevision: isEdit ? nil : storageRevision))
            }
            if isEdit, log.isOn, let pending = entry.content.pending {
                logged += pending.logged(name, at: paths[name], over: replaced.value, value, sequence: revision)
            }
        }
        if logged.count > 1 { for index in logged.indices { logged[index].isAlone = false } }
        log.append(logged)
        if isEdited { self.revision = revision }
        return changes.sorted { $0.key < $1.key }
    }

    /// The change that describes an edit already made to an entry.
    func change(
        _ entry: Entry, from old: Entry.Replaced, to new: PropertyListValue?, origin: ChangeOrigin, revision: UInt64,
        storageRevision: StorageRevision? = nil
    ) -> EntryChange {
        // Usually there are none, and making the name takes time.
        let name = layers.hasFallbacks ? EntryName(own: entry.name) : nil
        let registered = name.flatMap(layers.fallback)
        let earlier = registered.flatMap { _ in name }.map {
            EarlierValues(stored: old.history?.value.earlier($0) ?? [], registered: layers.earlier(.registered, $0))
        }
        return EntryChange(
            key: entry.name, old: StoredEntry(stored: old.value, registered: registered),
            new: StoredEntry(stored: new, registered: registered),
            earlier: earlier, history: old.history, isRemoval: new == nil, origin: origin, revision: revision,
            storageRevision: storageRevision, entry: entry, version: entry.version)
    }

    mutating func current(_ name: EntryName) -> EntryChange {
        let entry = entry(name)
        let source = entries.ensureEntry(name.location(of: entry.source) { entries[$0] }.own)
        return EntryChange(
            key: name.text, old: entry, new: entry, earlier: earlier(name), isRemoval: entry.source == nil || entry.source == .registered,
            origin: .local, revision: revision, entry: source, version: source.version)
    }
}
