public import Dispatch

/// The handle to one key in one store: reads, writes, observes and removes its value.
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
    public var key: StorageKey<Value> { tracked.key() }

    @usableFromInline let tracked: TrackedKey

    init(_ key: StorageKey<Value>, in store: ObservableStore) {
        self.init(TrackedKey(key.definition, in: store.cache), in: store)
    }

    init(_ tracked: TrackedKey, in store: ObservableStore) {
        self.store = store
        self.tracked = tracked
    }

    /// The value; see ``ObservableStore/subscript(_:)``. Observation tracks reads.
    public var value: Value {
        // Inlined into clients, which know the type: a plain value only needs its bits.
        @inlinable get {
            guard let bits = tracked.plainBits else { return store.observed(tracked) }
            return SeqLock.value(of: bits)
        }
        nonmutating set { store[key] = newValue }
        nonmutating _modify { yield &store[key] }
    }

    /// The value, or the error of a stored value that cannot be decoded; see ``ObservableStore/value(for:)``.
    public func get() throws(StorageError) -> Value {
        try store.value(for: key)
    }

    /// Sets the value, or throws the error of one that cannot be stored; see ``ObservableStore/set(_:for:muting:)``.
    public func set(_ value: Value, muting token: ObservationToken? = nil) throws(StorageError) {
        try store.set(value, for: key, muting: token)
    }

    /// The current value and each newer one; see ``ObservableStore/values(of:)``.
    public var values: AsyncStream<Value> {
        store.values(of: key)
    }

    /// Every change from now on; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public var changes: AsyncStream<Change<Value>> {
        store.changes(of: key)
    }

    /// Every change from now on, for any number of subscribers and streams, as a new publisher.
    ///
    /// It lasts while it or one of its subscriptions is retained, and ends when the store is closed or released.
    public var changesPublisher: ChangePublisher<Change<Value>> {
        ChangePublisher { store.observe(key, $0) }
    }

    /// Whether a value is stored.
    public var isSet: Bool {
        store.isSet(key)
    }

    /// Where the value comes from at present; a value counts even if it cannot be decoded.
    public var source: ValueSource {
        store.source(of: key.entryName)
    }

    /// Whether the value is prescribed by a mandatory layer of the store, so that it cannot be set. Observation tracks this.
    public var isMandatory: Bool {
        store.isMandatory(key.entryName)
    }

    /// Removes the stored value, so that the default is in effect again, or in a scene the application's value; see
    /// ``ObservableStore/remove(_:muting:)``.
    public func remove(muting token: ObservationToken? = nil) {
        store.remove(key, muting: token)
    }

    /// Changes the value atomically with respect to other threads; see ``ObservableStore/update(_:)`` for other processes.
    ///
    /// The closure runs again, with the new value, if the value was changed meanwhile; only the last run takes effect. It must not
    /// itself set the key in the store. It receives the stored value even where an override hides it.
    ///
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure, and nothing changes; ``StorageError`` if the value cannot be stored, or the stored value is not
    ///   of the key's type, in which case it is kept; ``StorageError/nestedEdit(key:)`` if the closure itself sets the value in the store.
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

    /// Calls a closure on the main actor with each change from now on, until the token is cancelled or released.
    ///
    /// A change made on the main actor is delivered before its setter returns, with two exceptions: one made by this listener is delivered
    /// after the listener returns, and one made while another thread calls listeners of the key, soon afterwards. A change by another
    /// thread or process is delivered asynchronously. Changes are delivered in order, each once.
    ///
    /// After `cancel()` has returned on the main actor, nothing is delivered.
    ///
    /// ```swift
    /// token = store.stored(.volume).addMainActorListener(initial: true) { [weak self] in self?.slider.value = $0.newValue }
    /// ```
    ///
    /// - Parameters:
    ///   - initial: whether the current value is delivered first, as a change from itself; on the main actor, before this method returns.
    ///   - listener: receives the changes; it may read, write and subscribe.
    public func addMainActorListener(
        initial: Bool = false, _ listener: @escaping @MainActor (Change<Value>) -> Void
    ) -> ObservationToken {
        store.observe(key, initial: initial, .mainActorListener(isListener: true, listener))
    }
}

extension ObservableStore {
    /// The handle to one key in this store.
    public nonisolated func stored<Value>(_ key: StorageKey<Value>) -> StoredValue<Value> {
        StoredValue(key, in: self)
    }
}

/// A key in a store with its entries, so that reading needs no lookup; Observation tracks reads.
@usableFromInline final class TrackedKey: Sendable {
    private let key: KeyReference
    private let own: Entry
    private let fallback: Entry?
    // The entries of earlier names.
    private let earlier: [Entry]

    init(_ key: KeyReference, in cache: EntryCache) {
        self.key = key
        let name = key.entryName
        own = cache.entry(name.own)
        fallback = name.fallback.map { cache.entry($0) }
        earlier = (name.earlier + name.earlierFallback).map { cache.entry($0) }
    }

    /// The key; the caller knows its type.
    func key<Value: Sendable>(_ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(unsafeDowncast(key, to: KeyDefinition<Value>.self))
    }

    /// The bits of the value, tracked, if it is a plain one and was read before; see ``SeqLock``.
    @usableFromInline var plainBits: UInt64? {
        own.access()
        return key.plain.bits(of: own)
    }

    /// Tracks the entries from which the value may come.
    fileprivate func access(hasOwnValue: () -> Bool) {
        own.access()
        for entry in earlier { entry.access() }
        if let fallback, !hasOwnValue() { fallback.access() }
    }
}

extension ObservableStore {
    @usableFromInline nonisolated func observed<Value: Sendable>(_ tracked: TrackedKey) -> Value {
        let key = tracked.key(Value.self)
        // In place of an invalid value, the fallback's may be in effect.
        tracked.access { isSet(key) && (currentReading(of: key).map(\.failure) ?? readValue(of: key).failure) == nil }
        return self[key]
    }
}
