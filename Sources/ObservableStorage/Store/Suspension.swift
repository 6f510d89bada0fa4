import Dispatch

extension ObservableStore {
    /// Keeps the store from locking its file until ``resume()``, and returns when it neither locks the file nor waits for the lock.
    ///
    /// On Apple's systems a process is ended if it is suspended while it holds, or waits for, the lock of a file in an app group's container.
    /// In the background, stores there lock their files only while the system has granted the time for it, so that a call is only needed for
    /// other occasions.
    ///
    /// While the store is suspended, edits wait in memory, and changes by other processes are still reported. ``flush(to:)``, if edits wait,
    /// and ``update(_:)`` throw ``StorageError/suspended(file:edits:)``. Edits are written nevertheless when the store is closed or released,
    /// and at the end of the process. Suspending a suspended store has no effect: one call of ``resume()`` resumes it.
    ///
    /// A write that has begun is finished; one that waits for the lock gives up. In a folder that is not a group container, a thread that
    /// waits in the kernel's queue for the lock stays there, and releases it as soon as it has it.
    public nonisolated(nonsending) func suspend() async {
        synchronizer.beginSuspension()
        // A forked child holds no lock.
        if StoreRegistry.all.isForkedChild { return }
        // Returns after the write that is under way: a call of an empty method of the actor would be optimized away.
        await withCheckedContinuation { continuation in
            executor.queue.async { continuation.resume() }
        }
    }

    /// Ends a suspension: writes the edits that wait, and looks for changes by other processes.
    public nonisolated func resume() {
        synchronizer.resume()
    }

    package nonisolated var isSuspended: Bool {
        synchronizer.isSuspended
    }
}

extension Synchronizer {
    nonisolated var isSuspended: Bool {
        cache.update { $0.flushes.isSuspended }
    }

    /// Lets no write begin, and makes one that waits for the lock give up.
    nonisolated func beginSuspension() {
        cache.update { state in
            storage.interruption.request(.suspension)
            state.flushes.suspend()
        }
    }

    /// Ends a suspension: writes the pending edits, and reads the storage.
    nonisolated func resume() {
        let (isResumed, needsFlush) = cache.update { state in
            // Together with the schedule, so that simultaneous calls leave both in the same state.
            guard state.flushes.resume() else { return (false, false) }
            storage.interruption.withdraw(.suspension)
            return (true, state.needsFlushScheduled())
        }
        guard isResumed else { return }
        if needsFlush { scheduleFlush() }
        receive(.changed)
    }

    /// Lets calls lock the file only during an activity, if it may not be locked while the system has the process suspended; or at any time
    /// again.
    nonisolated func setInBackground(_ isInBackground: Bool) {
        guard storage.isOutsideContainer else { return }
        if isInBackground { storage.interruption.request(.background) } else { storage.interruption.withdraw(.background) }
    }
}
