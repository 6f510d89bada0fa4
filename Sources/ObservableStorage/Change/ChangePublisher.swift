/// Delivers elements to any number of subscribers: each one receives every element, in the order of publishing.
///
/// Elements are delivered on the publishing thread, one at a time. One that is published meanwhile, by a subscriber or on another thread,
/// is delivered afterwards. A thread delivers a limited number of elements, and passes the rest to another one. No lock is held while
/// subscribers run. If very many elements are queued, publishing waits briefly for space, except inside a subscriber.
public final class ChangePublisher<Element: Sendable>: Sendable {
    private struct State {
        // Separate, because readers never wait for listeners, and calling very many is faster without checking the kind of each.
        var listeners: [Subscriber<Element>] = []
        var streams: [Subscriber<Element>] = []
        var slots: [Subscriber<Element>] = []
        var isFinished = false

        var isIdle: Bool { listeners.isEmpty && streams.isEmpty && slots.isEmpty }
    }

    private let state = Lock(State())
    private let reading: DeliveryQueue
    private let listening: DeliveryQueue
    private let boxing: @Sendable (Element) -> AnyBox?
    private let isAlone: Bool
    // The subscription to the source; nil if elements are published directly.
    private let source = Lock<ObservationToken?>(nil)

    /// Creates a publisher without subscribers. Its subscriptions end when it is released.
    public convenience init() {
        self.init(group: UniqueNumber.next(), isAlone: true)
    }

    /// Creates a publisher whose deliveries are serialized with those of its group, and which its owner finishes.
    ///
    /// - Parameters:
    ///   - runsUserCode: whether making an element runs user code.
    ///   - boxing: returns the box that slots receive for an element; nil leaves the slots unchanged.
    init(
        group: UInt64, runsUserCode: Bool = false, isAlone: Bool = false,
        boxing: @escaping @Sendable (Element) -> AnyBox? = { Box($0) }
    ) {
        reading = DeliveryQueue(group: group, .reading(runsUserCode: runsUserCode))
        listening = DeliveryQueue(group: group, .listening)
        self.boxing = boxing
        self.isAlone = isAlone
    }

    /// Creates a publisher for the elements of a source, while the publisher or one of its subscriptions is retained.
    convenience init(from subscribe: (Observer<Element>) -> ObservationToken) {
        self.init()
        let token = subscribe(Observer(onReceive: { [weak self] in self?.publish($0) }, onFinish: { [weak self] _ in self?.finish() }))
        source.withLock { $0 = token }
    }

    deinit {
        // An owner may release its publishers under the lock that determines the order, where nothing may be delivered.
        if isAlone { finish() }
    }

    /// Whether there are no subscribers.
    var isIdle: Bool {
        state.withLock { $0.isIdle }
    }

    /// Whether later subscriptions end immediately.
    var isFinished: Bool {
        state.withLock { $0.isFinished }
    }

    /// Delivers an element to all current subscribers.
    public func publish(_ element: Element) {
        delivering { post(to: &$0) { element } }
    }

    /// Ends every subscription after the elements published before were delivered. Later subscriptions end immediately.
    public func finish() {
        delivering { postFinish(to: &$0) }
    }

    /// Calls a closure with each element published from now on, until the token is cancelled or released.
    public func subscribe(_ onReceive: @escaping @Sendable (Element) -> Void) -> ObservationToken {
        delivering { add(.listener(onReceive), to: &$0) }
    }

    /// The elements published from now on, as a new stream; releasing the stream ends the subscription.
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

// The two steps of the calls above, for an owner that determines the order under its own lock and delivers afterwards.
extension ChangePublisher {
    /// Queues an element for all current subscribers except those of the token `muted`.
    ///
    /// - Parameters:
    ///   - makeBox: creates the box that slots receive, on delivery, if there are no other subscribers; nil to create it of the element.
    ///   - makeElement: creates the element on delivery, once for all subscribers.
    func post(
        muting muted: UInt64 = 0, to deliveries: inout Deliveries, boxing makeBox: @escaping @Sendable () -> AnyBox? = { nil },
        _ makeElement: @escaping @Sendable () -> Element
    ) {
        state.withLock { state in
            let all = state.listeners
            let listeners = muted == ObservationToken.everyListenerID ? all.filter { !$0.isListener } : all
            let (slots, streams) = (state.slots, state.streams)
            guard !slots.isEmpty || !streams.isEmpty else {
                if !listeners.isEmpty { deliveries.append(to: listening) { Self.call(listeners, with: makeElement(), muting: muted) } }
                return
            }
            // Created once, by the first delivery, for both.
            let shared = listeners.isEmpty ? nil : Once(makeElement)
            let hasOnlySlots = listeners.isEmpty && streams.isEmpty
            deliveries.append(to: reading) { [boxing] in
                if hasOnlySlots, let box = makeBox() { return Self.fill(slots, with: box) }
                let element = shared?.value ?? makeElement()
                if !slots.isEmpty { Self.fill(slots, with: boxing(element)) }
                Self.call(streams, with: element, muting: muted)
            }
            if let shared { deliveries.append(to: listening) { Self.call(listeners, with: shared.value, muting: muted) } }
        }
    }

    func postFinish(to deliveries: inout Deliveries) {
        state.withLock { state in
            state.isFinished = true
            let (readers, listeners) = (state.slots + state.streams, state.listeners)
            (state.slots, state.streams, state.listeners) = ([], [], [])
            if !readers.isEmpty { deliveries.append(to: reading) { for subscriber in readers { subscriber.finish() } } }
            if !listeners.isEmpty { deliveries.append(to: listening) { for subscriber in listeners { subscriber.finish() } } }
        }
    }

    /// Subscribes, and queues initial elements for this subscriber only.
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
            } else if observer.isStream {
                state.streams.append(subscriber)
            } else {
                state.listeners.append(subscriber)
            }
            return subscriber
        }
        let keeper = source.withLock { $0 == nil ? nil : self }
        return ObservationToken(subscriber, id: subscriber.id) { [weak self] in
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
        // The array retains them all until the last one was called: retaining each one separately would double the cost.
        withExtendedLifetime(subscribers) {
            subscribers.withUnsafeBytes { bytes in
                for subscriber in bytes.assumingMemoryBound(to: Unmanaged<Subscription>.self) {
                    subscriber._withUnsafeGuaranteedRef {
                        let subscriber = unsafeDowncast($0, to: Subscriber<Element>.self)
                        if subscriber.id != muted { subscriber.receive(element) }
                    }
                }
            }
        }
    }

    /// Puts one box into all slots, and resumes the waiting readers.
    private static func fill(_ subscribers: [Subscriber<Element>], with box: AnyBox?) {
        guard let box else { return }
        var readers: [LatestSlot.Reader] = []
        for subscriber in subscribers {
            if let reader = subscriber.slot?.put(box) { readers.append(reader) }
        }
        LatestSlot.resume(readers, with: box)
    }
}
