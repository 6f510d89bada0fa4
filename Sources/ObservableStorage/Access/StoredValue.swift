public import Dispatch

/// The handle to one key in one store: everything about the value hangs off it.
///
/// ```swift
/// let volume = store.stored(.volume)
/// volume.value = 0.3
/// for await value in volume.values { }
/// ```
public struct StoredValue<Value: Sendable>: Sendable {
    /// The store that holds the value.
    public let store: ObservableStore
    /// The key.
    public var key: StorageKey<Value> { tracked.key }

    @usableFromInline let tracked: TrackedKey<Value>

    /// Makes a handle.
    public init(_ key: StorageKey<Value>, in store: ObservableStore) {
        self.init(TrackedKey(key, in: store.memory), in: store)
    }

    init(_ tracked: TrackedKey<Value>, in store: ObservableStore) {
        self.store = store
        self.tracked = tracked
    }

    /// The value, as ``ObservableStore/subscript(_:)`` has it; reading it is tracked by Observation.
    public var value: Value {
        // Inlined into its users, who know the type.
        @inlinable get {
            guard let reading = tracked.reading else { return store.observed(tracked) }
            return reading.value()
        }
        nonmutating set { store[key] = newValue }
        nonmutating _modify { yield &store[key] }
    }

    /// The value now and each newer one; see ``ObservableStore/values(of:)``.
    public var values: AsyncStream<Value> {
        store.values(of: key)
    }

    /// Every change from now on; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public var changes: AsyncStream<Change<Value>> {
        store.changes(of: key)
    }

    /// Every change from now on, fanned out to any number of subscribers and streams; each call makes a publisher of its own.
    ///
    /// It lasts as long as somebody has it or one of its subscriptions, and ends when the store is closed or goes.
    public var publisher: ChangePublisher<Change<Value>> {
        ChangePublisher { store.observe(key, $0) }
    }

    /// Whether a value is stored.
    public var isSet: Bool {
        store.isSet(key)
    }

    /// Removes what is stored, so that the default counts again.
    public func remove() {
        store.remove(key)
    }

    /// Changes the value in one step, whatever other threads do; see ``ObservableStore/modify(_:_:)``.
    @discardableResult
    public func modify<Result>(_ body: (inout Value) throws -> Result) throws -> Result {
        try store.modify(key, body)
    }

    /// Calls a closure with each change; see ``ObservableStore/addUpdateListener(for:initial:on:_:)``.
    public func addUpdateListener(
        initial: Bool = false, on queue: DispatchQueue? = nil, _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        store.addUpdateListener(for: key, initial: initial, on: queue, listener)
    }
}

extension ObservableStore {
    /// The handle to one key in this store.
    public nonisolated func stored<Value>(_ key: StorageKey<Value>) -> StoredValue<Value> {
        StoredValue(key, in: self)
    }
}
