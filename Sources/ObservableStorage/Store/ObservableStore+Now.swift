import Dispatch

// What the store does by itself soon, done now.
extension ObservableStore {
    /// Writes everything that is still in memory only, and blocks the thread until it is on disk: for tools without tasks.
    ///
    /// - Parameter timeout: how long to wait at most.
    /// - Throws: the error of ``flush(to:)``; ``StorageError/unwritable(file:reason:edits:)`` after the timeout, and at once in a listener and
    ///   in a transaction, for whose end it might wait. The edits stay in memory and are tried again.
    @available(*, noasync, message: "use flush()")
    public nonisolated func flushNow(timeout: Duration = .seconds(10)) throws(StorageError) {
        let isInside = executor.isCurrent || DeliveryThread.current.isDelivering(cache.id)
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

    /// Reads the storage now, and its layers, instead of waiting until changes by others are noticed.
    ///
    /// Observers have been told what is different when this returns, unless a listener is slow.
    ///
    /// - Throws: the error of a storage that cannot be read; ``StorageError/closed``. The last values are kept.
    public nonisolated func reload() async throws(StorageError) {
        let deliveries = try await readEverything()
        for deliveries in deliveries {
            cache.deliver(deliveries)
            await deliveries.wait()
        }
    }

    // On the store's queue, which listeners must not block.
    private func readEverything() async throws(StorageError) -> [Deliveries] {
        if cache.update({ $0.isClosed }) { throw .closed }
        try layerFiles?.load { error throws(StorageError) in throw error }
        let layers = layerFiles?.changes(in: cache)
        return (layers.map { [$0] } ?? []) + (try await synchronizer.readAllChanges())
    }
}
