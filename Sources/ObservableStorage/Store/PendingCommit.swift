import PropertyListCoding

/// Pending edits that are to be stored together, with those of a transaction if there is one.
struct PendingCommit: Sendable {
    let edits: [String: PendingEdit]
    let options: CommitOptions
    private let unknownEdits: UnknownEdits
    private let records: [String: PropertyListValue]

    /// - Parameters:
    ///   - revision: the revision up to which the edits were made.
    ///   - unknownEdits: the edits of earlier commits, which may have been stored.
    ///   - isBehind: whether no caller waits until the edits are durable.
    init(
        _ edits: [String: PendingEdit], upTo revision: UInt64, of cache: EntryCache, after unknownEdits: UnknownEdits,
        isBehind: Bool = false
    ) {
        var options = CommitOptions()
        options.isBehind = isBehind
        options.isReported = false
        if !edits.isEmpty {
            options.whenStored = cache.releasesLog(upTo: revision)
            // Distinguishes the commit from those of other stores of the backend, too.
            options.identity = uniqueNumber()
            options.unknown = unknownEdits.commits
            options.whenResolved = { unknownEdits.resolve($0) }
        }
        (self.edits, self.options, self.unknownEdits) = (edits, options, unknownEdits)
        records = cache.records.withLock { $0 }
    }

    /// Begins a run on the entries that the backend has found; nothing is edited yet.
    func begin(on found: StorageEntries) -> Run {
        var run = Run(found: found)
        let remaining = unknownEdits.remaining(of: edits)
        run.namesStored = Set(edits.keys).subtracting(remaining.keys)
        run.effective = remaining.filter { $0.value.isValid { run.found[$0] } }
        if records.keys.allSatisfy({ found[$0] == nil }), !records.isEmpty, found.stored.isEmpty { run.lostRecords = records }
        return run
    }

    /// One run of the commit: a backend may make several, each on newer entries, and the last one takes effect.
    struct Run: Sendable {
        let found: StorageEntries
        /// The names of the edits that an earlier commit of unknown outcome has stored.
        var namesStored: Set<String> = []
        /// The other edits whose conditions hold.
        var effective: [String: PendingEdit] = [:]
        /// The edits of the transaction; nil until it has returned.
        var transaction: EntryEdits?
        var scopes: Set<KeyScope> = []
        /// The records of migrations and imports, if others have removed all entries, and these with them.
        var lostRecords: [String: PropertyListValue] = [:]
        /// Called after the transaction's edits are made in memory.
        var whenMade: @Sendable () -> Void = {}

        func apply(to entries: inout StorageEntries) throws(StorageError) {
            entries.readKeys = effective.namesRead
            for (key, edit) in effective { entries.set(try edit.value(of: key, over: found[key]), for: key, at: edit.paths) }
            restoreRecords(in: &entries)
        }

        /// Stores lost records again together with edits: what is edited has the present layout, and must not be migrated again.
        func restoreRecords(in entries: inout StorageEntries) {
            if entries.editedKeys.isEmpty { return }
            for (name, record) in lostRecords where entries[name] == nil {
                entries.readKeys?.insert(name)
                entries[name] = record
            }
        }
    }
}

extension PendingCommit {
    /// The effect of a commit on the entries in memory.
    struct Effect: Sendable {
        let latest: StorageEntries
        /// The changes by others that the commit found, or that were stored together with it.
        fileprivate(set) var external: EntryEdits = [:]
        /// The own edits whose stored values differ, as XML truncates dates to whole seconds, and records that were stored again.
        fileprivate(set) var rounded: EntryEdits = [:]
        /// The stored values of the transaction's edits.
        fileprivate(set) var transaction: EntryEdits = [:]
        /// The stored values of the pending edits, except those whose conditions did not hold.
        fileprivate(set) var own: EntryEdits = [:]
    }

    /// The effect of the stored commit.
    ///
    /// - Parameters:
    ///   - stored: the entries after the run that was stored.
    ///   - known: the entries that observers were notified of; they may be newer than the commit.
    func effect(of run: Run, storedAs stored: StorageEntries, over known: StorageEntries) -> Effect {
        let isOutdated = stored.isOlder(than: known)
        let latest = isOutdated ? known : stored
        let (effective, transaction) = (run.effective, run.transaction ?? [:])
        func isEdited(_ key: String) -> Bool { effective[key] != nil || transaction[key] != nil }
        func isOwn(_ key: String) -> Bool { isEdited(key) || run.lostRecords[key] != nil }
        var effect = Effect(latest: latest)
        // Newer changes that were reported before may have been undone since.
        if run.found.isOlder(than: known) {
            effect.external = latest.changes(since: known).filter { !isOwn($0.key) }
        } else {
            effect.external = run.found.changes(since: known).filter { effective[$0.key] == nil }
            for (key, value) in latest.changes(since: run.found) where !isOwn(key) { effect.external.updateValue(value, forKey: key) }
        }
        func report(_ key: String, _ value: PropertyListValue?) { effect.external.updateValue(value, forKey: key) }
        for key in edits.keys where effective[key] == nil { report(key, transaction[key] == nil ? latest[key] : run.found[key]) }
        // Another writer may have changed other values in the same dictionary.
        for (key, edit) in effective where !edit.paths.isEmpty && transaction[key] == nil && run.found[key] != known[key] {
            report(key, latest[key])
        }
        if isOutdated {
            for key in Set(effective.keys).union(transaction.keys) where latest[key] != stored[key] { report(key, latest[key]) }
        }
        for (key, edit) in edits where effect.external[key] == nil && transaction[key] == nil && latest[key] != edit.value {
            effect.rounded.updateValue(latest[key], forKey: key)
        }
        for key in run.lostRecords.keys where !isEdited(key) { effect.rounded.updateValue(latest[key], forKey: key) }
        effect.transaction = latest.values(of: transaction.keys)
        effect.own = latest.values(of: run.namesStored.union(effective.keys))
        return effect
    }
}

extension [String: PendingEdit] {
    /// The names of the entries on which the edits depend.
    fileprivate var namesRead: Set<String> {
        reduce(into: []) { names, edit in
            names.formUnion(edit.value.condition.keys)
            if !edit.value.paths.isEmpty { names.insert(edit.key) }
        }
    }
}
