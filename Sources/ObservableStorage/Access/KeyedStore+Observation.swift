public import Dispatch

extension KeyedStore {
    /// A key's value now and each newer one; see ``ObservableStore/values(of:)``.
    public func values<Value>(of path: KeyPath<Keys, StorageKey<Value>>) -> AsyncStream<Value> {
        store.values(of: key(path))
    }

    /// Every change of a key from now on; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public func changes<Value>(
        of path: KeyPath<Keys, StorageKey<Value>>,
        bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        store.changes(of: key(path), bufferingPolicy: bufferingPolicy)
    }

    /// Calls a closure with each change of a key; see ``ObservableStore/addUpdateListener(for:initial:on:_:)``.
    public func addUpdateListener<Value>(
        for path: KeyPath<Keys, StorageKey<Value>>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        store.addUpdateListener(for: key(path), initial: initial, on: queue, listener)
    }
}
