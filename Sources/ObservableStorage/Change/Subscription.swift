import Dispatch
import Synchronization

/// How long a subscription lasts: until it is ended, or until the object has gone that it was tied to.
class SubscriptionLife: @unchecked Sendable {
    // Sendable because what changes here is atomic or behind a lock; only a class that is not final may have subclasses.
    private enum Phase: UInt8, AtomicRepresentable {
        case open, tied, ended
    }

    private let phase = Atomic(Phase.open)
    // The token is kept as long as the owner is there; it keeps this life in turn, which ending releases.
    private let tie = Guarded<(owner: WeakReference<AnyObject>, token: ObservationToken)?>(nil)

    /// Whether nothing is to be delivered any more. Finding the owner gone ends the subscription.
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

    /// Ends it, once, and cancels the token that is tied. Not to be called under a lock: both may run user code.
    final func end() {
        phase.store(.ended, ordering: .sequentiallyConsistent)
        tie.take { $0.take() }?.token.cancel()
    }

    /// Keeps a token until an object goes.
    final func tie(_ token: ObservationToken, to owner: AnyObject) {
        tie.take { tie in
            defer { tie = (WeakReference(owner), token) }
            return tie
        }
        let before = phase.compareExchange(expected: .open, desired: .tied, ordering: .sequentiallyConsistent).original
        if before == .ended { end() }
    }
}

/// Looks once a second whether the objects are there that tokens without a publisher are tied to: nothing else would notice.
final class OwnerPolling: Sendable {
    /// The one of the process. There is a timer only while there are such tokens.
    static let shared = OwnerPolling()

    private static let interval: DispatchTimeInterval = .seconds(1)
    private let state = Guarded<(lives: [ObjectIdentifier: SubscriptionLife], isTimed: Bool)>(([:], false))

    /// Looks at a life until it has ended.
    func add(_ life: SubscriptionLife) {
        let isTimed = state.withLock { state in
            state.lives[ObjectIdentifier(life)] = life
            defer { state.isTimed = true }
            return state.isTimed
        }
        if !isTimed { lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.interval) { [self] in
            let ended = state.withLock { $0.lives }.filter { $0.value.isEnded }
            let isTimed = state.withLock { state in
                for life in ended.keys { state.lives[life] = nil }
                state.isTimed = !state.lives.isEmpty
                return state.isTimed
            }
            if isTimed { lookLater() }
        }
    }
}

/// One observer of a publisher's elements, and the life of its subscription: a crowd is told quicker if each is one object.
final class Subscriber<Element: Sendable>: SubscriptionLife, @unchecked Sendable {
    // Sendable because nothing here changes but for what the superclass guards.

    /// Tells this subscription from every other one in the process; never 0.
    let id: UInt64
    private let onReceive: @Sendable (Element) -> Void
    // What the listener has not been told yet that has a queue of its own.
    private let waiting: DeliveryQueue?
    private let onFinish: @Sendable (SubscriptionLife) -> Void
    /// Where the newest element is put, in place of ``receive(_:)``.
    let slot: LatestSlot?

    init(_ observer: Observer<Element>) {
        id = UniqueNumber.next()
        onReceive = observer.onReceive
        waiting = observer.queue.map { DeliveryQueue(group: UniqueNumber.next(), .listeningOn($0)) }
        onFinish = observer.onFinish
        slot = observer.slot
    }

    func receive(_ element: Element) {
        guard !isEnded else { return }
        guard let waiting else { return onReceive(element) }
        waiting.post({ [self] in if !isEnded { onReceive(element) } }, from: .current)
    }

    func finish() {
        guard !isEnded else { return }
        guard let waiting else { return onFinish(self) }
        waiting.post({ [self] in onFinish(self) }, from: .current)
    }
}

/// The subscribers of a publisher in the order in which they came.
struct SubscriberList<Element: Sendable>: Sendable {
    private(set) var subscribers: [Subscriber<Element>] = []
    private var crowdSize = 64

    /// Appends a subscriber that was made after all those on the list.
    mutating func append(_ subscriber: Subscriber<Element>) {
        subscribers.append(subscriber)
    }

    /// Takes a subscriber off the list, if it is on it.
    mutating func remove(_ subscriber: Subscriber<Element>) {
        // They stand in the order of their numbers, so that leaving a long list needs no search through it.
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

    /// Everyone, each time that the list has grown to twice what it was: time to look for subscribers that nobody wants any more.
    mutating func crowd() -> [Subscriber<Element>]? {
        guard subscribers.count >= crowdSize else { return nil }
        crowdSize = subscribers.count * 2
        return subscribers
    }

    /// Takes everyone off the list.
    mutating func removeAll() -> [Subscriber<Element>] {
        defer { subscribers = [] }
        return subscribers
    }
}

/// What somebody wants to be told, and how.
struct Observer<Element: Sendable>: Sendable {
    let onReceive: @Sendable (Element) -> Void
    /// Called once when nothing more will come, with the subscription's life.
    let onFinish: @Sendable (SubscriptionLife) -> Void
    /// A serial queue to make the calls on, in place of the thread that delivers.
    let queue: DispatchQueue?
    /// Whether elements are only put into a buffer for somebody to take them.
    let isReader: Bool
    /// Where the newest element is put for somebody to take it, in place of a call.
    let slot: LatestSlot?

    init(
        on queue: DispatchQueue? = nil, isReader: Bool = false, onReceive: @escaping @Sendable (Element) -> Void,
        onFinish: @escaping @Sendable (SubscriptionLife) -> Void
    ) {
        (self.onReceive, self.onFinish, self.queue, self.isReader, slot) = (onReceive, onFinish, queue, isReader, nil)
    }

    /// An observer for whom the newest element is put into a slot, as the publisher boxes it.
    init(slot: LatestSlot, onFinish: @escaping @Sendable (SubscriptionLife) -> Void) {
        (onReceive, self.onFinish, queue, isReader, self.slot) = ({ _ in }, onFinish, nil, true, slot)
    }
}

extension Observer {
    /// Calls a closure; the subscription ends when nothing more will come, and lets go of it.
    static func listener(on queue: DispatchQueue? = nil, _ onReceive: @escaping @Sendable (Element) -> Void) -> Observer {
        Observer(on: queue, onReceive: onReceive, onFinish: { $0.end() })
    }

    /// Passes everything on to a stream; the token ends when the stream does.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        stream(continuation) { $0 }
    }

    /// Passes everything on to a stream of something that is made of it without user code.
    static func stream<Made: Sendable>(
        _ continuation: AsyncStream<Made>.Continuation, _ make: @escaping @Sendable (Element) -> Made
    ) -> Observer {
        Observer(isReader: true, onReceive: { continuation.yield(make($0)) }, onFinish: { _ in continuation.finish() })
    }
}
