#if canImport(Combine)
    public import Combine
    import Synchronization

    /// Publishes the current value of a key, and then each newer one.
    ///
    /// While a subscriber demands nothing, the newest value is kept for it. Values that cannot be decoded are skipped. A value that a
    /// subscriber sets is delivered after the present one. Values arrive on the thread that sets them, before its setter returns, unless
    /// another thread is calling listeners of the key at that time; those of other processes arrive on another thread. Subscribers finish
    /// when the store is closed or released; a subscription does not retain the store.
    public struct ValuePublisher<Output: Sendable>: Publisher, Sendable {
        /// There are no failures: what cannot be read is reported in the store's `failures`.
        public typealias Failure = Never

        fileprivate let store: ObservableStore
        fileprivate let key: StorageKey<Output>

        /// Subscribes a subscriber. If it demands a value, it receives the current one before this returns; but soon afterwards if this is
        /// called by a listener of the same store, or while another thread is calling listeners of the key.
        public func receive<S: Combine.Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
            let hasInitial = Atomic(false)
            DemandSubscription.start(
                subscriber, keepsAll: false,
                { (change: Change<Output>) in
                    // The first element is what reading returns, even if the stored value cannot be decoded.
                    if hasInitial.exchange(true, ordering: .relaxed), case .undecodable = change.kind { return nil }
                    return change.newValue
                }, { store.observe(key, initial: true, $0) })
        }
    }

    extension StoredValue {
        /// The current value and each newer one; see ``ValuePublisher``.
        public var publisher: ValuePublisher<Value> {
            ValuePublisher(store: store, key: key)
        }
    }
#endif
