import Dispatch
import FoundationSubset
import PropertyListCoding

/// How long edits that are not in the storage yet are kept.
public enum EditDurability: Sendable, Hashable {
    /// From the moment at which they return, if the process is killed: they are in a log, and stored when the file is next opened.
    case immediate
    /// In memory, until they are written soon after: a process that is killed before that loses them.
    ///
    /// The reason is nil if the store was opened with ``JournalMode/off``, only reads, or its storage is not a ``PropertyListFile``.
    case flushed(reason: StorageError?)
    /// Until the system needs their space: it may remove the file while the application is not running, as those in Caches, where settings
    /// are on tvOS. What the user cannot set again belongs in `UserDefaultsBackend` or iCloud.
    case purgeable
}

extension ObservableStore {
    /// How long edits are kept that are not in the storage yet.
    ///
    /// It changes if a log of edits cannot be made, as on a full disk, and again once one could be made, which the first edit after all others
    /// are written tries. Reading this property queries the file system.
    public nonisolated var durability: EditDurability {
        if journaling?.isPurgeable == true { return .purgeable }
        let (isOn, objection) = cache.update { ($0.log.isOn, $0.log.objection) }
        guard isOn, objection == nil else { return .flushed(reason: objection) }
        // Also of a log in use, which does not count after the list was given to another user.
        return journaling?.locationObjection.map { .flushed(reason: $0) } ?? .immediate
    }
}

extension EntryCache {
    /// Does what edits demand, outside the lock.
    ///
    /// - Returns: whether a flush has to be scheduled, because the edits could not be logged and one that waits would be too late.
    func follow(_ demand: EditLog.Demand) -> Bool {
        switch demand {
        case .none: return false
        case .later where !executor.isCurrent:
            guard !StoreRegistry.all.isForkedChild else { return false }
            DispatchQueue.global().async { [self] in
                // As before a commit: the setter continues first.
                sched_yield()
                logGrowing.withLock { _ in makeLogIfNeeded() }
            }
            return false
        // The store's queue waits for the file: it schedules the flush if there is none.
        case .now, .later:
            makeLogIfNeeded()
            return update { state in
                guard !state.log.isOn else { return false }
                state.flushes.cancelTimed()
                return state.needsFlushScheduled()
            }
        }
    }

    /// Makes the file that edits need, before the call that made them returns.
    private func makeLogIfNeeded() {
        // Others that need the same file wait for it: the lock is held while it is made, and protects nothing else.
        let replaced = logMaking.withLock { _ in
            var replaced: [EditLogFile] = []
            while let halfSize = update({ $0.log.neededHalfSize() }) {
                do throws(EditLogRefusal) {
                    // A forked child writes nothing: its pending edits are those of the parent.
                    guard let makeLog, !StoreRegistry.all.isForkedChild else {
                        throw EditLogRefusal(error: .closed, recurrence: .certain)
                    }
                    let file = try makeLog(halfSize)
                    if let old = take({ $0.log.install(file) }) { replaced.append(old) }
                } catch {
                    update { $0.log.refuse(error) }
                }
            }
            return replaced
        }
        for file in replaced { file.remove() }
    }

    /// What a commit does after it has replaced the file: releases the edits up to a revision. Nil without a log.
    func releasesLog(upTo revision: UInt64) -> (@Sendable (ResolvedPath, FileIdentity?) -> Void)? {
        guard update({ $0.log.isOn || $0.log.file != nil }) else { return nil }
        return { [weak self] list, identity in
            guard let self else { return }
            let file = update { $0.log.file }
            // Before its pages are used.
            if abandonLogIfProtected(with: list) { return }
            let removed = file.flatMap { $0.isInPlace ? nil : $0 }
            update { $0.log.markCommitted(upTo: revision, in: list, identity, removed: removed) }
        }
    }

    /// Gives up the log if its file may no longer be used because of its data protection; returns whether that is so.
    ///
    /// - Parameter list: the list of the log; nil for the one for which it was made.
    @discardableResult
    func abandonLogIfProtected(with list: ResolvedPath? = nil) -> Bool {
        // Under the lock, as the file may be closed as soon as it is not in there.
        let found = update { state in state.log.file.flatMap { file in file.protectionClass.map { (file, $0) } } }
        guard let (file, own) = found, let objection = file.protectionObjection(own, with: list ?? file.list) else { return false }
        take { $0.log.file === file ? $0.log.abandon(because: objection) : nil }?.remove()
        return true
    }

    /// Whether the edits that are not stored are in a log, where the next opening finds them.
    var isLogged: Bool {
        update { $0.log.isComplete ? $0.log.file : nil }?.isInPlace ?? false
    }

    /// Removes the log of a store that ends, unless it has edits that are not stored.
    func endLog(discardingEdits discardsEdits: Bool = false) {
        take { state in
            state.entries.hasPending && !discardsEdits ? nil : state.log.takeFile()
        }?.remove()
        // A file that is being made without anybody waiting for it is removed before this returns; a setter removes its own.
        if !StoreRegistry.all.isForkedChild { logGrowing.withLock { _ in } }
    }
}
