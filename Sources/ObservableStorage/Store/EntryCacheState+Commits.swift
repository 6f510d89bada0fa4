import PropertyListCoding

// Edits on their way to the storage.
extension EntryCacheState {
    /// Removes the entries whose names satisfy a condition, as one revision, or as several if the storage does not take all of them in one
    /// edit. Before the storage was read, this applies to the values that will be found as well.
    mutating func remove(where isRemoved: @escaping @Sendable (String) -> Bool) throws(StorageError) -> [EntryChange] {
        try requireEditable()
        if !entries.isOpened { entries.removals.append(isRemoved) }
        return remove(entries.names.filter(isRemoved))
    }

    private mutating func remove(_ names: [String]) -> [EntryChange] {
        var names = names[...]
        var changes: [EntryChange] = []
        while !names.isEmpty {
            let part = limits.removable(of: names) { [$0] }
            names = names.dropFirst(part.count)
            let edits = part.reduce(into: EntryEdits(minimumCapacity: part.count)) { $0.updateValue(nil, forKey: $1) }
            changes += apply(edits, origin: .local, isEdit: true)
        }
        return changes
    }

    /// Removes entries that a transaction has stored in scopes which were discarded meanwhile.
    mutating func removeDiscarded(_ names: some Sequence<String>, in scopes: Set<KeyScope>) -> [EntryChange] {
        let discarded = scopes.filter(discardedScopes.contains)
        if discarded.isEmpty { return [] }
        // A pending edit is that of a scope that was opened again, or removes the entry.
        let removed = names.filter { name in entries.pending(name) == nil && discarded.contains { $0.prefix.contains(name) } }
        return apply(removed.reduce(into: EntryEdits()) { $0.updateValue(nil, forKey: $1) }, origin: .local, isEdit: true)
    }

    /// Records that the storage was read or written, and removes what was to be removed before it could be read.
    mutating func open(_ latest: StorageEntries) {
        storageRevision = latest.revision
        if entries.isOpened { return }
        // The values are not in memory yet, so that nothing changes for observers.
        _ = remove(entries.removed(from: latest.stored))
        entries.isOpened = true
    }

    /// Whether the storage has to be read before the edits are written: what was removed meanwhile is known only then.
    var needsReading: Bool { !entries.isOpened && entries.hasPending }

    /// Whether the value of a name is not known, because the storage was not read, and it was neither set nor removed.
    func isUnread(_ name: EntryName) -> Bool {
        if entries.isOpened { return false }
        func isKnown(_ entry: String) -> Bool {
            guard let paths = entries.pending(entry)?.paths, !entries.isRemoved(entry) else { return entries.isRemoved(entry) }
            return paths.isEmpty || paths.contains { name.path.starts(with: $0) }
        }
        return !isKnown(name.own) || name.leaf(entries[name.own]) == nil && name.fallback.map(isKnown) == false
    }

    /// Discards edits that cannot be stored, except those repeated meanwhile, and restores the stored values, as one revision.
    mutating func takeBack(_ edits: [String: PendingEdit], for stored: StorageEntries) -> [EntryChange] {
        let current = edits.filter { entries.pending($0.key)?.revision == $0.value.revision }
        entries.markWritten(current)
        for (name, edit) in current where !edit.condition.isEmpty {
            if let value = edit.value { _ = refusedMigrations.remember(value, for: name) }
        }
        log.append(
            current.map { LoggedEdit(key: $0.key, over: $0.value.value.fingerprint, value: stored[$0.key], sequence: revision + 1) },
            isAwaited: false)
        return apply(stored.values(of: current.keys), origin: .local)
    }

    /// Removes edits that are now on disk, except those repeated meanwhile, which need not wait for a later attempt.
    ///
    /// - Parameter stored: the values of those that were stored; the others were given up because of their conditions. Nil if all were.
    mutating func markWritten(_ edits: [String: PendingEdit], as stored: EntryEdits? = nil) {
        entries.markWritten(edits, as: stored)
        if !entries.hasPending { log.allowAgain() }
        flushes.cancelTimed()
    }

    /// The edits that a commit has to store, and the revision up to which they were made.
    mutating func beginCommit(after unknown: UnknownEdits) -> (edits: [String: PendingEdit], revision: UInt64) {
        log.beginCommit(of: revision)
        return (entries.beginCommit(isFirst: unknown.isEmpty), revision)
    }

    /// Discards all edits that are in memory only, and returns them.
    mutating func discardPending() -> [String: PendingEdit] {
        let edits = entries.pending
        entries.removals = []
        markWritten(edits)
        return edits
    }

    /// Takes values from the storage; see ``EntryTable/rebase(on:except:)``. Does nothing after the store was closed: edits that were
    /// discarded are not in the storage, but are still read.
    mutating func rebase(on stored: StoredValues, except edited: [String]) -> (entries: [Entry], values: StoredValues)? {
        isClosed ? nil : entries.rebase(on: stored, except: edited)
    }

    /// Whether the caller has to queue a flush; true once until that flush begins.
    mutating func needsFlushScheduled() -> Bool {
        entries.hasPending && flushes.enqueue()
    }
}
