/// Fans elements out to any number of subscribers: each one gets every element, in the order of publishing.
///
/// Elements are delivered on the thread that publishes, one at a time; those published meanwhile, from another thread or by
/// a subscriber, are delivered after it by the thread that is delivering already. No lock is held while subscribers run.
public final class ChangePublisher<Element: Sendable>: Sendable {
    private struct State {
        var list = SubscriberList<Element>()
        // Those who are not called, apart: calling a crowd is quicker if there is nothing to ask of each.
        var slots = SubscriberList<Element>()
        var isFinished = false

        var isIdle: Bool { list.subscribers.isEmpty && slots.subscribers.isEmpty }
    }

    private let state = Guarded(State())
    private let outbox: Outbox
    private let boxing: @Sendable (Element) -> AnyBox?
    private let isAlone: Bool
    // What feeds the publisher, if it is not published to by hand: its subscriptions keep it then.
    private let source = Guarded<ObservationToken?>(nil)

    /// Makes a publisher without subscribers. Its subscriptions end when it is released.
    public init() {
        outbox = Outbox()
        boxing = { Box($0) }
        isAlone = true
    }

    /// Makes a publisher whose deliveries stand in one queue with those of others, and whose owner finishes it.
    ///
    /// - Parameter boxing: what is put into slots for an element; nothing to leave there what is.
    init(outbox: Outbox, boxing: @escaping @Sendable (Element) -> AnyBox? = { Box($0) }) {
        self.outbox = outbox
        self.boxing = boxing
        isAlone = false
    }

    /// Makes a publisher that publishes what a source gives, for as long as somebody has it or a subscription of it.
    ///
    /// - Parameter subscribe: subscribes to the source.
    convenience init(from subscribe: (Observer<Element>) -> ObservationToken) {
        self.init()
        let token = subscribe(Observer(onReceive: { [weak self] in self?.publish($0) }, onFinish: { [weak self] _ in self?.finish() }))
        source.withLock { $0 = token }
    }

    deinit {
        // An owner may release its publishers under the lock that decides the order, where nothing may be delivered.
        if isAlone { finish() }
    }

    /// Whether nobody is subscribed.
    var isIdle: Bool {
        state.withLock { $0.isIdle }
    }

    /// Delivers an element to everyone who is subscribed now.
    public func publish(_ element: Element) {
        post { element }
        outbox.deliver()
    }

    /// Ends every subscription once what was published before has been delivered. Later subscriptions end at once.
    public func finish() {
        postFinish()
        outbox.deliver()
    }

    /// Calls a closure with each element published from now on, until the token is cancelled or released.
    public func subscribe(_ onReceive: @escaping @Sendable (Element) -> Void) -> ObservationToken {
        let token = add(.listener(onReceive))
        outbox.deliver()
        return token
    }

    /// The elements published from now on, as a stream of their own; dropping the stream ends the subscription.
    public func stream(bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        let token = add(.stream(continuation))
        continuation.onTermination = { _ in token.cancel() }
        deliver()
        return stream
    }
}

// The halves of the calls above, for an owner that decides the order under a lock of its own and delivers afterwards.
extension ChangePublisher {
    /// Delivers what has been queued.
    func deliver() {
        outbox.deliver()
    }

    /// Queues an element for everyone who is subscribed now, but for the subscription `muted`.
    ///
    /// - Parameter makeElement: makes the element when it is delivered, once for all.
    func post(muting muted: UInt64 = 0, _ makeElement: @escaping @Sendable () -> Element) {
        state.withLock { state in
            guard !state.isIdle else { return }
            let (subscribers, slots) = (state.list.subscribers, state.slots.subscribers)
            outbox.append { [boxing, wakeups = outbox.wakeups] in
                let element = makeElement()
                if !slots.isEmpty { Self.fill(slots, with: boxing(element), waking: wakeups) }
                Self.call(subscribers, with: element, muting: muted)
            }
        }
    }

    /// Queues the end of every subscription.
    func postFinish() {
        state.withLock { state in
            state.isFinished = true
            let subscribers = state.slots.removeAll() + state.list.removeAll()
            guard !subscribers.isEmpty else { return }
            outbox.append {
                for subscriber in subscribers { subscriber.finish() }
            }
        }
    }

    /// Subscribes, and queues first elements for this subscriber alone.
    func add(
        initial: [@Sendable () -> Element] = [], _ observer: Observer<Element>,
        onCancel: @escaping @Sendable () -> Void = {}
    ) -> ObservationToken {
        let subscriber = state.withLock { state in
            let subscriber = Subscriber(observer)
            for makeInitial in initial {
                outbox.append { [boxing, wakeups = outbox.wakeups] in
                    let element = makeInitial()
                    if observer.slot == nil { return subscriber.receive(element) }
                    Self.fill([subscriber], with: boxing(element), waking: wakeups)
                }
            }
            if state.isFinished {
                outbox.append { subscriber.finish() }
            } else if observer.slot != nil {
                state.slots.append(subscriber)
            } else {
                state.list.append(subscriber)
                if let crowd = state.list.crowd() { outbox.append { Self.endThoseWithoutOwner(crowd) } }
            }
            return subscriber
        }
        let keeper = source.withLock { $0 == nil ? nil : self }
        return ObservationToken(subscription: subscriber.id, life: subscriber) { [weak self] in
            defer { withExtendedLifetime(keeper) {} }
            self?.state.withLock { state in
                state.list.remove(subscriber)
                state.slots.remove(subscriber)
            }
            onCancel()
        }
    }

    private static func call(_ subscribers: [Subscriber<Element>], with element: Element, muting muted: UInt64) {
        // The array keeps them all until the last one is told: to retain each one meanwhile would cost as much as all the rest.
        withExtendedLifetime(subscribers) {
            subscribers.withUnsafeBytes { bytes in
                for subscriber in bytes.assumingMemoryBound(to: Unmanaged<SubscriptionLife>.self) {
                    subscriber._withUnsafeGuaranteedRef {
                        let subscriber = unsafeDowncast($0, to: Subscriber<Element>.self)
                        if subscriber.id != muted { subscriber.receive(element) }
                    }
                }
            }
        }
    }

    /// Puts one box into all slots. Readers who waited are resumed once everybody has been told.
    private static func fill(_ subscribers: [Subscriber<Element>], with box: AnyBox?, waking wakeups: Wakeups) {
        guard let box else { return }
        var readers: [LatestSlot.Reader] = []
        for subscriber in subscribers {
            if let reader = subscriber.slot?.put(box) { readers.append(reader) }
        }
        if !readers.isEmpty { wakeups.add(readers, box) }
    }

    private static func endThoseWithoutOwner(_ subscribers: [Subscriber<Element>]) {
        for subscriber in subscribers { _ = subscriber.isEnded }
    }
}
