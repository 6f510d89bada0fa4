/// Fans elements out to any number of subscribers: each one gets every element, in the order of publishing.
///
/// Elements are delivered on the thread that publishes, one at a time; those published meanwhile, by a subscriber or from another thread, are
/// delivered after it. No thread delivers for others without end: what came after its own element is delivered on another thread. No lock is
/// held while subscribers run. When very many elements wait, publishing waits a moment for room, except inside a subscriber.
public final class ChangePublisher<Element: Sendable>: Sendable {
    private struct State {
        // Apart, because readers never wait for listeners, and calling very many is quicker if there is nothing to ask of each.
        var listeners = SubscriberList<Element>()
        var streams = SubscriberList<Element>()
        var slots = SubscriberList<Element>()
        var isFinished = false

        var hasReaders: Bool { !slots.subscribers.isEmpty || !streams.subscribers.isEmpty }
        var isIdle: Bool { listeners.subscribers.isEmpty && !hasReaders }
    }

    private let state = Guarded(State())
    private let reading: DeliveryQueue
    private let listening: DeliveryQueue
    private let boxing: @Sendable (Element) -> AnyBox?
    private let isAlone: Bool
    // What feeds the publisher, if it is not published to by hand: its subscriptions keep it then.
    private let source = Guarded<ObservationToken?>(nil)

    /// Makes a publisher without subscribers. Its subscriptions end when it is released.
    public convenience init() {
        self.init(group: UniqueNumber.next(), isAlone: true)
    }

    /// Makes a publisher whose deliveries come one after the other with those of others of its group, and whose owner finishes it.
    ///
    /// - Parameters:
    ///   - runsUserCode: whether making an element runs user code.
    ///   - boxing: what is put into slots for an element; nothing to leave there what is.
    init(
        group: UInt64, runsUserCode: Bool = false, isAlone: Bool = false,
        boxing: @escaping @Sendable (Element) -> AnyBox? = { Box($0) }
    ) {
        reading = DeliveryQueue(group: group, .reading(runsUserCode: runsUserCode))
        listening = DeliveryQueue(group: group, .listening)
        self.boxing = boxing
        self.isAlone = isAlone
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
        delivering { post(to: &$0) { element } }
    }

    /// Ends every subscription once what was published before has been delivered. Later subscriptions end at once.
    public func finish() {
        delivering { postFinish(to: &$0) }
    }

    /// Calls a closure with each element published from now on, until the token is cancelled or released.
    public func subscribe(_ onReceive: @escaping @Sendable (Element) -> Void) -> ObservationToken {
        delivering { add(.listener(onReceive), to: &$0) }
    }

    /// The elements published from now on, as a stream of their own; dropping the stream ends the subscription.
    public func stream(bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        let token = delivering { add(.stream(continuation), to: &$0) }
        continuation.onTermination = { _ in token.cancel() }
        return stream
    }

    private func delivering<Result>(_ body: (inout Deliveries) -> Result) -> Result {
        var deliveries = Deliveries()
        let result = body(&deliveries)
        deliveries.deliver()
        return result
    }
}

// The halves of the calls above, for an owner that decides the order under a lock of its own and delivers afterwards.
extension ChangePublisher {
    /// Queues an element for everyone who is subscribed now, but for the subscription `muted`.
    ///
    /// - Parameter makeElement: makes the element when it is delivered, once for all.
    func post(muting muted: UInt64 = 0, to deliveries: inout Deliveries, _ makeElement: @escaping @Sendable () -> Element) {
        state.withLock { state in
            let listeners = state.listeners.subscribers
            guard state.hasReaders else {
                if !listeners.isEmpty { deliveries.append(to: listening) { Self.call(listeners, with: makeElement(), muting: muted) } }
                return
            }
            // Made by whoever comes first, for both.
            let shared = listeners.isEmpty ? nil : Once(makeElement)
            let (slots, streams) = (state.slots.subscribers, state.streams.subscribers)
            deliveries.append(to: reading) { [boxing] in
                let element = shared?.value ?? makeElement()
                if !slots.isEmpty { Self.fill(slots, with: boxing(element)) }
                Self.call(streams, with: element, muting: muted)
            }
            if let shared { deliveries.append(to: listening) { Self.call(listeners, with: shared.value, muting: muted) } }
        }
    }

    /// Queues the end of every subscription.
    func postFinish(to deliveries: inout Deliveries) {
        state.withLock { state in
            state.isFinished = true
            let (readers, listeners) = (state.slots.removeAll() + state.streams.removeAll(), state.listeners.removeAll())
            if !readers.isEmpty { deliveries.append(to: reading) { for subscriber in readers { subscriber.finish() } } }
            if !listeners.isEmpty { deliveries.append(to: listening) { for subscriber in listeners { subscriber.finish() } } }
        }
    }

    /// Subscribes, and queues first elements for this subscriber alone.
    func add(
        initial: [@Sendable () -> Element] = [], _ observer: Observer<Element>, to deliveries: inout Deliveries,
        onCancel: @escaping @Sendable () -> Void = {}
    ) -> ObservationToken {
        let queue = observer.isReader ? reading : listening
        let subscriber = state.withLock { state in
            let subscriber = Subscriber(observer)
            for makeInitial in initial {
                deliveries.append(to: queue) { [boxing] in
                    let element = makeInitial()
                    if observer.slot == nil { return subscriber.receive(element) }
                    Self.fill([subscriber], with: boxing(element))
                }
            }
            if state.isFinished {
                deliveries.append(to: queue) { subscriber.finish() }
            } else if observer.slot != nil {
                state.slots.append(subscriber)
            } else if observer.isReader {
                state.streams.append(subscriber)
            } else {
                state.listeners.append(subscriber)
                if let crowd = state.listeners.crowd() { deliveries.append(to: queue) { Self.endThoseWithoutOwner(crowd) } }
            }
            return subscriber
        }
        let keeper = source.withLock { $0 == nil ? nil : self }
        return ObservationToken(subscription: subscriber.id, life: subscriber) { [weak self] in
            defer { withExtendedLifetime(keeper) {} }
            self?.state.withLock { state in
                state.listeners.remove(subscriber)
                state.streams.remove(subscriber)
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

    /// Puts one box into all slots, and resumes the readers who waited.
    private static func fill(_ subscribers: [Subscriber<Element>], with box: AnyBox?) {
        guard let box else { return }
        var readers: [LatestSlot.Reader] = []
        for subscriber in subscribers {
            if let reader = subscriber.slot?.put(box) { readers.append(reader) }
        }
        LatestSlot.resume(readers, with: box)
    }

    private static func endThoseWithoutOwner(_ subscribers: [Subscriber<Element>]) {
        for subscriber in subscribers { _ = subscriber.isEnded }
    }
}
