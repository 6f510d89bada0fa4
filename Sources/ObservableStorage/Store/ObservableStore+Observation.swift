public import Dispatch
public import PropertyListCoding

extension ObservableStore {
    /// A key's value now and each newer one, as a stream of its own for each call.
    ///
    /// A slow reader gets the newest value only; the last one always arrives. Values that cannot be decoded are skipped. The stream does not
    /// keep the store alive; it ends when the store is closed or goes, and when its task is cancelled.
    public nonisolated func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value> {
        let latest = LatestValue<Value>()
        let token = observe(key, initial: true, Observer(slot: latest.slot, onFinish: { _ in latest.finish() }))
        return latest.stream(onEnd: token)
    }

    /// Every change of a key from now on, in order, as a stream of its own for each call.
    ///
    /// Ends like ``values(of:)``. What is not read yet stays in memory, the old and the new value of each change, without a bound: a stream that is
    /// kept and not read grows with every change, until it is let go or the store is closed. Where a reader may fall behind, bound it by
    /// `bufferingPolicy`, or use ``values(of:)``, which keeps one value.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - bufferingPolicy: what to keep for a slow reader; by default everything. What it drops is told to nobody, but the old value of the next
    ///     change shows that something is missing, as does its revision.
    public nonisolated func changes<Value>(
        of key: StorageKey<Value>, bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        let (stream, continuation) = AsyncStream.makeStream(of: Change<Value>.self, bufferingPolicy: bufferingPolicy)
        let token = observe(key, .stream(continuation))
        continuation.onTermination = { _ in token.cancel() }
        return stream
    }

    /// Tells an observer each change of a key from now on, and when there will be no more.
    nonisolated func observe<Value>(
        _ key: StorageKey<Value>, initial: Bool = false, _ observer: Observer<Change<Value>>
    ) -> ObservationToken {
        let movers = movers(of: key)
        migrateIfNeeded(key)
        // Made here, so that what is read without user code stays so.
        if key.isReadWithoutUserCode { _ = key.defaultValue }
        return cache.observe(
            key, initial: initial, with: movers,
            onDecode: { [weak cache, reports] change, failure, good in
                cache?.noteDecoded(key, change.new, revision: change.revision, failure, insteadOf: good, reports)
            }, observer)
    }

    /// What moves a value that somebody stores under an earlier name of a key to where its observers see it.
    private nonisolated func movers<Value>(of key: StorageKey<Value>) -> [ObservationToken] {
        let name = key.definition.entryName
        guard name.hasEarlier else { return [] }
        return (name.earlier + name.earlierFallback).map { earlier in
            cache.observe(
                StorageKey<PropertyListValue?>(earlier), initial: false,
                .listener { [weak self] change in if change.newValue != nil { self?.migrateIfNeeded(key) } })
        }
    }

    /// Every change of every entry from now on, in order; those of one transaction have the same revision.
    ///
    /// A stream of its own for each call, which keeps everything for a slow reader, as ``changes(of:bufferingPolicy:)`` does, and ends like
    /// ``values(of:)``.
    public nonisolated var allChanges: AsyncStream<Change<PropertyListValue?>> {
        allChanges(bufferingPolicy: .unbounded)
    }

    /// Every change of every entry from now on, like ``allChanges``, with a bound on what is kept for a slow reader.
    ///
    /// - Parameter bufferingPolicy: what to keep, of the changes of all keys together.
    public nonisolated func allChanges(
        bufferingPolicy: AsyncStream<Change<PropertyListValue?>>.Continuation.BufferingPolicy
    ) -> AsyncStream<Change<PropertyListValue?>> {
        let (stream, continuation) = AsyncStream.makeStream(of: Change<PropertyListValue?>.self, bufferingPolicy: bufferingPolicy)
        let token = cache.observeAll(.stream(continuation) { $0.typed(for: StorageKey($0.key)) })
        continuation.onTermination = { _ in token.cancel() }
        return stream
    }

    /// Calls a closure with each change of a key from now on, until the token is cancelled or released.
    ///
    /// A listener that takes long delays other listeners of its key, and nobody else: neither readers of streams, nor other keys, nor the
    /// storage. When very many changes wait for it, whoever makes another one waits for a moment, except inside a listener.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - initial: whether the current value comes first, as a change from itself.
    ///   - queue: where to call; by default on the thread that makes the change, before its write returns, unless another thread is
    ///     telling listeners of the key at that moment. What comes meanwhile, and what others change, is told on a thread apart.
    ///   - listener: gets the changes in order, one at a time; under no lock, so it may read, write and subscribe.
    public nonisolated func addUpdateListener<Value>(
        for key: StorageKey<Value>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        // On a queue that runs several things at once, the changes still come one after the other.
        let serial = queue.map { DispatchQueue(label: "ObservableStore listener", target: $0) }
        return observe(key, initial: initial, .listener(on: serial, listener))
    }
}
