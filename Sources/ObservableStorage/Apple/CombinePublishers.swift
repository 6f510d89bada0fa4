#if canImport(Combine)
    public import Combine
    import Synchronization

    extension ChangePublisher: Publisher {
        /// The elements.
        public typealias Output = Element
        /// There are no failures.
        public typealias Failure = Never

        /// Subscribes a subscriber to the elements published from now on.
        ///
        /// Elements that it does not demand are kept, all of them. It finishes after the last element when the publisher finishes.
        public func receive<S: Combine.Subscriber>(subscriber: S) where S.Input == Element, S.Failure == Never {
            DemandSubscription.start(subscriber, keepsAll: true, { $0 }) { observer in delivering { add(observer, to: &$0) } }
        }
    }

    extension ObservationToken: Cancellable {}

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
                    if hasInitial.exchange(true, ordering: .relaxed), change.keepsValue { return nil }
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

    /// The subscription of one Combine subscriber. It ends when it is cancelled or released, and after the completion.
    ///
    /// The subscriber retains it, and it retains the subscriber until it ends; the source retains neither.
    final class DemandSubscription<Element: Sendable>: Combine.Subscription, @unchecked Sendable {
        // Sendable because all mutable state is locked, and the subscriber, which need not be Sendable, is called by one thread at a time.

        private struct Calls: @unchecked Sendable {
            // Sendable because `DemandBuffer` allows one call at a time.
            let receive: (Element) -> Subscribers.Demand
            let finish: () -> Void
        }

        private let state: Lock<(buffer: DemandBuffer<Element>, calls: Calls?, token: ObservationToken?)>

        private init(keepsAll: Bool, _ calls: Calls) {
            state = Lock((DemandBuffer(keepsAll: keepsAll), calls, nil))
        }

        deinit {
            cancel()
        }

        /// Subscribes a subscriber to a source, some of whose elements are converted to nil; see ``DemandBuffer``.
        static func start<Source: Sendable, Downstream: Combine.Subscriber>(
            _ subscriber: Downstream, keepsAll: Bool, _ convert: @escaping @Sendable (Source) -> Element?,
            _ observe: (Observer<Source>) -> ObservationToken
        ) where Downstream.Input == Element, Downstream.Failure == Never {
            let subscription = DemandSubscription(
                keepsAll: keepsAll, Calls(receive: { subscriber.receive($0) }, finish: { subscriber.receive(completion: .finished) }))
            // Before the subscriber receives the subscription, after which it must miss nothing.
            let token = observe(
                Observer(
                    onReceive: { [weak subscription] element in
                        if let subscription, let element = convert(element) { subscription.append(element) }
                    }, onFinish: { [weak subscription] in subscription?.finish() }))
            subscription.state.withLock { $0.token = token }
            subscriber.receive(subscription: subscription)
            subscription.make { $0.delivered(demanding: 0) }
        }

        private func append(_ element: Element) {
            let (call, _) = state.take { $0.buffer.append(element) }
            make { _ in call }
        }

        private func finish() {
            make { $0.finish() }
        }

        func request(_ demand: Subscribers.Demand) {
            make { $0.request(demand.max) }
        }

        func cancel() {
            let (_, _, token) = state.take { ($0.buffer.cancel(), $0.calls.take(), $0.token.take()) }
            token?.cancel()
        }

        /// Makes the call that a function of the buffer returns, and those after it.
        private func make(_ first: (inout DemandBuffer<Element>) -> DemandBuffer<Element>.Call?) {
            var (call, calls) = state.withLock { (first(&$0.buffer), $0.calls) }
            while let present = call, let subscriber = calls {
                guard case .receive(let element) = present else {
                    subscriber.finish()
                    return cancel()
                }
                let more = subscriber.receive(element).max
                (call, calls) = state.withLock { ($0.buffer.delivered(demanding: more), $0.calls) }
            }
        }
    }
#endif
