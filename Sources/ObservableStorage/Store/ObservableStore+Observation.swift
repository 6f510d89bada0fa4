public import Dispatch
public import PropertyListCoding

extension ObservableStore {
    /// A key's current value and each newer one, as a new stream for each call.
    ///
    /// A slow reader receives the newest value only; the last one is always delivered. Values that cannot be decoded are skipped. The
    /// stream does not retain the store; it ends when the store is closed or released, and when its task is cancelled.
    public nonisolated func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value> {
        let latest = LatestSlot()
        let token = observe(key, initial: true, .slot(latest))
        return latest.values(onEnd: token)
    }

    /// Every change of a key from now on, in order, as a new stream for each call.
    ///
    /// Ends like ``values(of:)``. Changes that are not read yet stay in memory, the old and the new value of each, without a limit: a
    /// stream that is retained and not read grows with every change, until it is released or the store is closed. For a reader that may be
    /// slow, set a `bufferingPolicy`, or use ``values(of:)``, which keeps one value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - bufferingPolicy: the changes to keep for a slow reader; by default all. Dropped changes are not reported, but the old value of
    ///     the next change, and its revision, show that changes are missing.
    public nonisolated func changes<Value>(
        of key: StorageKey<Value>, bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        AsyncStream.observing(bufferingPolicy) { observe(key, .stream($0)) }
    }

    /// Delivers each change of a key from now on to an observer, and the end of the changes.
    nonisolated func observe<Value>(
        _ key: StorageKey<Value>, initial: Bool = false, _ observer: Observer<Change<Value>>
    ) -> ObservationToken {
        prepareObservation(of: key)
        return cache.observe(key, initial: initial, observer)
    }

    /// Does what an observation of a key requires and may run user code.
    nonisolated func prepareObservation<Value>(of key: StorageKey<Value>) {
        storeDefaultIfNeeded(of: key)
        // Created here, so that reading without user code remains so.
        if key.definition.isReadWithoutUserCode { _ = key.defaultValue }
    }

    /// Every change of every entry from now on, in order, as a new stream for each call; the changes of one transaction have the same
    /// revision. The times that a mirror in iCloud stores beside the values are left out.
    ///
    /// Ends like ``values(of:)``.
    ///
    /// - Parameter bufferingPolicy: the changes to keep for a slow reader, of all keys together; by default all, as for
    ///   ``changes(of:bufferingPolicy:)``.
    public nonisolated func allChanges(
        bufferingPolicy: AsyncStream<Change<PropertyListValue?>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<PropertyListValue?>> {
        AsyncStream.observing(bufferingPolicy) { cache.observeAll(.stream($0)) }
    }

    /// Calls a closure with each change of a key from now on, until the token is cancelled or released, or the store is closed or released.
    ///
    /// A slow listener delays other listeners of its key only: neither readers of streams, nor other keys, nor the storage. If very many
    /// changes are queued for it, making another change waits briefly, except inside a listener.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - initial: whether the current value is delivered first, as a change from itself.
    ///   - queue: the queue of the calls; by default the thread that makes the change, before its write returns, unless another thread is
    ///     calling listeners of the key at that time. Changes made meanwhile, and external changes, are delivered on a separate thread.
    ///   - listener: receives the changes in order, one at a time; no lock is held, so it may read, write and subscribe.
    public nonisolated func addUpdateListener<Value>(
        for key: StorageKey<Value>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        // On a concurrent queue, the changes are still delivered one after the other.
        let kind = queue.map { DeliveryQueue.Kind.listeningOn(DispatchQueue(label: "ObservableStore listener", target: $0)) }
        return observe(key, initial: initial, Observer(on: kind, isListener: true, onReceive: listener))
    }
}
