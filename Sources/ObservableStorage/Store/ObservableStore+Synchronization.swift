import Dispatch

/// What a flush writes.
public enum FlushDestination: Sendable, Hashable {
    /// The journal, if the storage has one: the edits survive a power failure, and other stores of this library see them.
    case journal
    /// The storage itself, such as the property list, for every program to read.
    case storage
}

extension ObservableStore {
    /// Writes everything that is still in memory only, and returns when it is on disk, also if the task is cancelled: waiting takes as long as
    /// the storage does, which on etcd is limited by the time limits of its calls.
    ///
    /// With a journal, the property list then has every edit, for other programs to read; to the journal alone is faster, and as durable. A
    /// storage that could not be opened is opened first.
    ///
    /// - Parameter destination: what is written.
    /// - Throws: ``StorageError`` naming the file; the edits stay in memory and are tried again. ``StorageError/unencodable(key:reason:underlying:)``
    ///   or ``StorageError/tooLarge(key:reason:)`` if a value set since the last flush cannot be stored there: that edit was reverted, and all
    ///   others are on disk.
    ///   ``StorageError/suspended(file:edits:)`` if edits wait for ``resume()``. In a forked child, this and all other asynchronous methods
    ///   that throw do so at once.
    public nonisolated(nonsending) func flush(to destination: FlushDestination = .storage) async throws(StorageError) {
        try requireOriginalProcess()
        try await synchronizer.uncancelled { synchronizer throws(StorageError) in try await synchronizer.flush(to: destination) }
    }

    /// Writes everything that is still in memory only, and blocks the thread until it is on disk: for tools without tasks.
    ///
    /// - Parameter timeout: how long to wait at most.
    /// - Throws: the error of ``flush(to:)``; ``StorageError/unwritable(file:reason:edits:)`` after the timeout, and at once in a listener and
    ///   in a transaction, for whose end it might wait. The edits stay in memory and are tried again.
    @available(*, noasync, message: "use flush()")
    public nonisolated func flushNow(timeout: Duration = .seconds(10)) throws(StorageError) {
        try requireOriginalProcess()
        let isInside = executor.isCurrent || DeliveryThread.current.isDelivering(cache.id) || TransactionContext.isOpen(of: self)
        if isInside {
            let reason = "flushNow() was called in a listener or a transaction, which must not wait; call flush() in a task"
            throw .unwritable(file: name, reason: reason, edits: .kept)
        }
        let outcome = Lock<Result<Void, StorageError>>(
            .failure(.unwritable(file: name, reason: "it was not written within \(timeout)", edits: .kept)))
        let end = DispatchSemaphore(value: 0)
        executor.queue.async { [synchronizer] in
            // Begun here: all threads of the pool of tasks may be waiting, too.
            synchronizer.start { synchronizer in
                defer { end.signal() }
                do throws(StorageError) {
                    try await synchronizer.flush(to: .storage)
                    outcome.withLock { $0 = .success(()) }
                } catch {
                    outcome.withLock { $0 = .failure(error) }
                }
            }
        }
        _ = end.wait(timeout: .after(timeout))
        try outcome.withLock { $0 }.get()
    }

    /// Throws an error in a forked child, which has no thread for the store's queue, or one that would write.
    nonisolated func requireOriginalProcess() throws(StorageError) {
        if let error = StoreRegistry.all.forkError(of: name) { throw error }
    }

    /// Reads the storage now, and its layers, instead of waiting until changes by others are noticed.
    ///
    /// Observers have been notified of the differences when this returns, unless a listener is slow.
    ///
    /// - Throws: the error of a storage that cannot be read; ``StorageError/closed``. The last values are kept.
    public nonisolated(nonsending) func reload() async throws(StorageError) {
        try requireOriginalProcess()
        try await readLayersAndStorage()
    }

    private func readLayersAndStorage() async throws(StorageError) {
        if cache.update({ $0.isClosed }) { throw .closed }
        try layerFiles.load()
        let deliveries = layerFiles.changes(in: cache)
        if !deliveries.isEmpty { await cache.deliverConcurrently(deliveries) }
        let earlier = await synchronizer.lastDeliveries
        try await synchronizer.read()
        for deliveries in [earlier, await synchronizer.lastDeliveries] { await deliveries?.wait() }
    }

    /// Writes the pending edits, also if the task is cancelled, ends every stream, and stops watching. Later edits are rejected.
    ///
    /// - Parameter discardsEdits: whether the store is closed even if the edits cannot be written. They are lost then, which is reported
    ///   in ``failures``.
    /// - Throws: ``StorageError`` if the edits cannot be written; the store then stays open, and nothing is lost.
    ///   ``StorageError/suspended(file:edits:)`` if the system does not let the process finish, for a file of an app group.
    public nonisolated(nonsending) func close(discardingEdits discardsEdits: Bool = false) async throws(StorageError) {
        try requireOriginalProcess()
        try await synchronizer.uncancelled { synchronizer throws(StorageError) in
            try await synchronizer.close(discardingEdits: discardsEdits)
        }
        layerFiles.stopWatching()
    }

    /// Errors without a caller to throw to: failed background writes, property setters, a file that stays malformed, a fallback to polling.
    ///
    /// A new stream for each call, until the store is closed or released. It begins with the errors not delivered yet. An error without a
    /// subscriber within a second, or by the end of the process, is logged once: to standard error, and to the system log on Apple's
    /// systems. One of the last writes of a process that exits is logged in any case, because no subscriber may run any more.
    public nonisolated var failures: AsyncStream<StorageError> {
        reports.stream
    }

    /// How long a normal exit of the process may wait for edits that are not on disk yet; 2 seconds by default.
    ///
    /// Edits that cannot be written in that time are lost, which is logged. Applies to all stores of the process.
    public static var exitTimeout: Duration {
        get { StoreRegistry.exitTimeout.withLock { $0 } }
        set { StoreRegistry.exitTimeout.withLock { $0 = newValue } }
    }
}
