import Dispatch
import Synchronization

/// One subscription to boxed elements: its calls and its lifetime, in one object, because two would make delivery to many slower.
final class Subscription: Sendable {
    /// Identifies this subscription and its token in the process; never 0.
    let id = uniqueNumber()
    /// The slot for the newest element, instead of calls.
    let slot: LatestSlot?
    /// Whether the calls only append elements to the buffer of a stream.
    let isStream: Bool
    /// Whether it is a listener of the application, which ``ObservationToken/everyListener`` mutes.
    let isListener: Bool
    // The queue of a listener that is not called on the delivering thread.
    private let queue: DeliveryQueue?
    private let onReceive: @Sendable (AnyBox) -> Void
    private let onFinish: @Sendable () -> Void
    private let ended = Atomic(false)

    fileprivate init(
        on kind: DeliveryQueue.Kind?, isListener: Bool = false, isStream: Bool = false, slot: LatestSlot? = nil,
        onReceive: @escaping @Sendable (AnyBox) -> Void, onFinish: @escaping @Sendable () -> Void
    ) {
        queue = kind.map { DeliveryQueue(group: uniqueNumber(), $0) }
        (self.isListener, self.isStream, self.slot) = (isListener, isStream, slot)
        (self.onReceive, self.onFinish) = (onReceive, onFinish)
    }

    /// Whether delivery runs no code of a listener.
    var isReader: Bool { isStream || slot != nil }

    private var isEnded: Bool { ended.load(ordering: .acquiring) }

    /// Ends the subscription: nothing is delivered any more.
    func end() {
        ended.store(true, ordering: .sequentiallyConsistent)
    }

    func receive(_ element: AnyBox) {
        guard !isEnded else { return }
        guard let queue else { return onReceive(element) }
        queue.post { [self] in if !isEnded { onReceive(element) } }
    }

    func finish() {
        guard !isEnded else { return }
        guard let queue else { return onFinish() }
        queue.post(onFinish)
    }
}

/// An observer of elements of a type, to which only publishers of that type can be subscribed.
struct Observer<Element: Sendable>: Sendable {
    let subscription: Subscription
}

extension Observer {
    /// - Parameters:
    ///   - kind: where the calls are made, instead of the delivering thread.
    ///   - onFinish: called once, after the last delivery.
    init(
        on kind: DeliveryQueue.Kind? = nil, isListener: Bool = false, isStream: Bool = false,
        onReceive: @escaping @Sendable (Element) -> Void, onFinish: @escaping @Sendable () -> Void = {}
    ) {
        subscription = Subscription(
            on: kind, isListener: isListener, isStream: isStream,
            onReceive: { onReceive(unsafeDowncast($0, to: Box<Element>.self).value) }, onFinish: onFinish)
    }

    static func mainActorListener(isListener: Bool = false, _ onReceive: @escaping @MainActor (Element) -> Void) -> Observer {
        Observer(
            on: .listeningOnMainActor, isListener: isListener,
            onReceive: { element in MainActor.assumeIsolated { onReceive(element) } })
    }

    /// Fills a slot, whose last value is still delivered after the end.
    static func slot(_ slot: LatestSlot) -> Observer {
        Observer(subscription: Subscription(on: nil, slot: slot, onReceive: { _ in }, onFinish: { slot.end(keepingValue: true) }))
    }

    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        stream(continuation) { $0 }
    }

    /// Forwards everything, converted without user code, to a stream.
    static func stream<Converted: Sendable>(
        _ continuation: AsyncStream<Converted>.Continuation, _ convert: @escaping @Sendable (Element) -> Converted
    ) -> Observer {
        Observer(isStream: true, onReceive: { continuation.yield(convert($0)) }, onFinish: { continuation.finish() })
    }
}

// The list of a publisher, in the order in which the subscriptions were created.
extension [Subscription] {
    mutating func insert(_ subscription: Subscription) {
        // Another thread may have inserted one that was created later.
        insert(subscription, at: lastIndex { $0.id < subscription.id }.map { $0 + 1 } ?? 0)
    }

    /// Removes a subscription, if it is in the list, without a linear search: the list may be long.
    mutating func remove(_ subscription: Subscription) {
        let index = indices.partitioningIndex { self[$0].id >= subscription.id }
        if index < count, self[index].id == subscription.id { remove(at: index) }
    }
}

extension AsyncStream {
    /// A stream for an observation that begins now, and ends with the stream.
    ///
    /// - Parameter observe: begins the observation, which passes its elements to the stream.
    static func observing(
        _ bufferingPolicy: Continuation.BufferingPolicy = .unbounded, _ observe: (Continuation) -> ObservationToken
    ) -> AsyncStream {
        let (stream, continuation) = makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        let token = observe(continuation)
        continuation.onTermination = { _ in token.cancel() }
        return stream
    }
}
