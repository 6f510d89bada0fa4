import Dispatch
import Synchronization

/// The lifetime of a subscription: until it is ended, or until the object that it is tied to is released.
class Subscription: @unchecked Sendable {
    // Sendable because all mutable state is atomic or locked; unchecked because the class is not final.
    private enum Phase: UInt8, AtomicRepresentable {
        case open, tied, ended
    }

    private let phase = Atomic(Phase.open)
    // The token is retained while the owner exists; it retains this object in turn, which ending releases.
    private let tie = Lock<(owner: WeakReference<AnyObject>, token: ObservationToken)?>(nil)

    /// Whether deliveries have ended. A released owner ends the subscription.
    final var isEnded: Bool {
        switch phase.load(ordering: .acquiring) {
        case .open: return false
        case .ended: return true
        case .tied:
            let owner = tie.withLock { $0?.owner }
            guard let owner, owner.object == nil else { return false }
            end()
            return true
        }
    }

    /// Ends it once, and cancels the tied token. Must not be called under a lock: both may run user code.
    final func end() {
        phase.store(.ended, ordering: .sequentiallyConsistent)
        tie.take { $0.take() }?.token.cancel()
    }

    /// Retains a token until an object is released.
    final func tie(_ token: ObservationToken, to owner: AnyObject) {
        tie.take { tie in
            defer { tie = (WeakReference(owner), token) }
            return tie
        }
        let before = phase.compareExchange(expected: .open, desired: .tied, ordering: .sequentiallyConsistent).original
        if before == .ended { end() }
    }
}

/// One observer of a publisher's elements, and its lifetime, in one object: two would make delivery to many slower.
final class Subscriber<Element: Sendable>: Subscription, @unchecked Sendable {
    // Sendable because the superclass protects all mutable state.

    /// Identifies this subscription in the process; never 0.
    let id: UInt64
    /// Identifies the token with which a writer mutes this subscription; the subscriptions of one listener of several keys share it.
    let tokenID: UInt64
    /// Whether ``ObservationToken/everyListener`` mutes this subscription.
    let isListener: Bool
    private let onReceive: @Sendable (Element) -> Void
    // Posts a delivery to a listener that has its own queue.
    private let post: ((@escaping DeliveryQueue.Delivery) -> Void)?
    private let onFinish: @Sendable (Subscription) -> Void
    /// The slot for the newest element, instead of ``receive(_:)``.
    let slot: LatestSlot?

    init(_ observer: Observer<Element>) {
        id = UniqueNumber.next()
        tokenID = observer.tokenID ?? id
        isListener = observer.isListener
        onReceive = observer.onReceive
        post = observer.isOnMainActor ? MainActorQueue().post : observer.queue.map { Self.poster(on: $0) }
        onFinish = observer.onFinish
        slot = observer.slot
    }

    func receive(_ element: Element) {
        guard !isEnded else { return }
        guard let post else { return onReceive(element) }
        post { [self] in if !isEnded { onReceive(element) } }
    }

    func finish() {
        guard !isEnded else { return }
        guard let post else { return onFinish(self) }
        post { [self] in onFinish(self) }
    }

    private static func poster(on queue: DispatchQueue) -> (@escaping DeliveryQueue.Delivery) -> Void {
        let waiting = DeliveryQueue(group: UniqueNumber.next(), .listeningOn(queue))
        return { waiting.post($0, from: .current) }
    }
}

/// The subscribers of a publisher in the order of subscription.
struct SubscriberList<Element: Sendable>: Sendable {
    private(set) var subscribers: [Subscriber<Element>] = []
    private var sweepThreshold = 64

    /// Appends a subscriber that was created after all those in the list.
    mutating func append(_ subscriber: Subscriber<Element>) {
        subscribers.append(subscriber)
    }

    /// Removes a subscriber, if it is in the list.
    mutating func remove(_ subscriber: Subscriber<Element>) {
        // They are sorted by their numbers, so that removal from a long list needs no linear search.
        var range = subscribers.startIndex..<subscribers.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if subscribers[middle].id == subscriber.id {
                subscribers.remove(at: middle)
                return
            }
            range = subscribers[middle].id < subscriber.id ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
    }

    /// All subscribers, each time that the list has doubled in size, to find those that have ended; nil otherwise.
    mutating func sweepCandidates() -> [Subscriber<Element>]? {
        guard subscribers.count >= sweepThreshold else { return nil }
        sweepThreshold = subscribers.count * 2
        return subscribers
    }

    /// Removes all subscribers.
    mutating func removeAll() -> [Subscriber<Element>] {
        defer { subscribers = [] }
        return subscribers
    }
}

/// The callbacks of a subscriber.
struct Observer<Element: Sendable>: Sendable {
    /// A serial queue for the calls, instead of the delivering thread.
    var queue: DispatchQueue?
    /// Whether the calls are made on the main actor.
    var isOnMainActor = false
    /// Whether the calls only append elements to the buffer of a stream.
    var isStream = false
    /// The slot for the newest element, as boxed by the publisher, instead of calls.
    var slot: LatestSlot?
    /// The identifier of the token to which the subscription belongs; nil for a token of its own.
    var tokenID: UInt64?
    /// Whether it is a listener of the application, which ``ObservationToken/everyListener`` mutes.
    var isListener = false
    var onReceive: @Sendable (Element) -> Void = { _ in }
    /// Called once after the last delivery, with the subscription's lifetime.
    let onFinish: @Sendable (Subscription) -> Void

    /// Whether delivery runs no code of a listener.
    var isReader: Bool { isStream || slot != nil }
}

extension Observer {
    /// The same observer as a listener of the application.
    var asListener: Observer {
        var listener = self
        listener.isListener = true
        return listener
    }

    /// Calls a closure; the subscription ends after the last delivery, and releases it.
    static func listener(
        on queue: DispatchQueue? = nil, of tokenID: UInt64? = nil, _ onReceive: @escaping @Sendable (Element) -> Void
    ) -> Observer {
        Observer(queue: queue, tokenID: tokenID, onReceive: onReceive, onFinish: { $0.end() })
    }

    /// Calls a closure on the main actor.
    static func mainActorListener(_ onReceive: @escaping @MainActor (Element) -> Void) -> Observer {
        Observer(
            isOnMainActor: true, onReceive: { element in MainActor.assumeIsolated { onReceive(element) } }, onFinish: { $0.end() })
    }

    /// Forwards everything to a stream; the token ends with the stream.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        stream(continuation) { $0 }
    }

    /// Forwards everything, converted without user code, to a stream.
    static func stream<Converted: Sendable>(
        _ continuation: AsyncStream<Converted>.Continuation, _ convert: @escaping @Sendable (Element) -> Converted
    ) -> Observer {
        Observer(isStream: true, onReceive: { continuation.yield(convert($0)) }, onFinish: { _ in continuation.finish() })
    }
}
