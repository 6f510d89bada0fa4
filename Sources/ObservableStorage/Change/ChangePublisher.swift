/// Delivers elements to any number of subscribers: each one receives every element, in the order of publishing.
///
/// Elements are delivered on the publishing thread, one at a time. One that is published meanwhile, by a subscriber or on another thread,
/// is delivered afterwards. A thread delivers a limited number of elements, and passes the rest to another one. No lock is held while
/// subscribers run. If very many elements are queued, publishing waits briefly for space, except inside a subscriber.
public final class ChangePublisher<Element: Sendable>: Sendable {
    private let boxes = BoxPublisher(group: uniqueNumber())
    // The subscription to the source; nil if elements are published directly.
    private let source = Lock<ObservationToken?>(nil)

    /// Creates a publisher without subscribers. Its subscriptions end when it is released.
    public init() {}

    /// Creates a publisher for the elements of a source, while the publisher or one of its subscriptions is retained.
    convenience init(from subscribe: (Observer<Element>) -> ObservationToken) {
        self.init()
        let token = subscribe(Observer(onReceive: { [weak self] in self?.publish($0) }, onFinish: { [weak self] in self?.finish() }))
        source.withLock { $0 = token }
    }

    deinit {
        finish()
    }

    var isIdle: Bool { boxes.isIdle }

    /// Delivers an element to all current subscribers.
    public func publish(_ element: Element) {
        delivering { post(element, to: &$0) }
    }

    /// Ends every subscription after the elements published before were delivered. Later subscriptions end immediately.
    public func finish() {
        delivering { boxes.postFinish(to: &$0) }
    }

    /// Calls a closure with each element published from now on, until the token is cancelled or released.
    public func subscribe(_ onReceive: @escaping @Sendable (Element) -> Void) -> ObservationToken {
        delivering { add(Observer(onReceive: onReceive), to: &$0) }
    }

    /// The elements published from now on, as a new stream; releasing the stream ends the subscription.
    public func stream(bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded) -> AsyncStream<Element> {
        AsyncStream.observing(bufferingPolicy) { continuation in delivering { add(.stream(continuation), to: &$0) } }
    }

    func delivering<Result>(_ body: (inout Deliveries) -> Result) -> Result {
        var deliveries = Deliveries()
        let result = body(&deliveries)
        deliveries.deliver()
        return result
    }
}

// The two steps of the calls above, for an owner that determines the order under its own lock and delivers afterwards.
extension ChangePublisher {
    /// Queues an element for all current subscribers.
    func post(_ element: Element, to deliveries: inout Deliveries) {
        boxes.post(Box(element), to: &deliveries)
    }

    /// Subscribes, and queues initial elements for this subscriber only.
    func add(initial: [Element] = [], _ observer: Observer<Element>, to deliveries: inout Deliveries) -> ObservationToken {
        let keeper = source.withLock { $0 == nil ? nil : self }
        return boxes.add(
            initial: initial.map { element in { Box(element) } }, observer.subscription, to: &deliveries,
            onCancel: { withExtendedLifetime(keeper) {} })
    }
}
