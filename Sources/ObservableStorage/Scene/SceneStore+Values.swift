public import Dispatch

extension SceneStore {
    /// The value of a key in this scene; see ``ObservableStore/value(for:)``.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        try base.value(for: key.scoped(to: scope))
    }

    /// Sets a key's value in this scene; see ``ObservableStore/set(_:for:muting:)``.
    public func set<Value>(
        _ value: Value, for key: StorageKey<Value>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        try base.set(value, for: key.scoped(to: scope), muting: token)
    }

    /// Removes what this scene has set for a key, so that it has the application's value again; other scenes keep theirs.
    public func remove<Value>(_ key: StorageKey<Value>, muting token: ObservationToken? = nil) {
        base.remove(key.scoped(to: scope), muting: token)
    }

    /// Whether this scene has set a value for a key.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        base.isSet(key.scoped(to: scope))
    }

    /// A key's value in this scene now and each newer one, the application's included while the scene has none of its own; see
    /// ``ObservableStore/values(of:)``.
    public func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value> {
        base.values(of: key.scoped(to: scope))
    }

    /// Every change of a key as this scene sees it; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public func changes<Value>(
        of key: StorageKey<Value>, bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        base.changes(of: key.scoped(to: scope), bufferingPolicy: bufferingPolicy)
    }

    /// Calls a closure with each change of a key as this scene sees it; see ``ObservableStore/addUpdateListener(for:initial:on:_:)``.
    public func addUpdateListener<Value>(
        for key: StorageKey<Value>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        base.addUpdateListener(for: key.scoped(to: scope), initial: initial, on: queue, listener)
    }
}
