import Dispatch
import Synchronization

/// The lifetime of a subscription: until it is ended.
class Subscription: @unchecked Sendable {
    // Sendable because the only mutable state is atomic; unchecked because the class is not final.
    private let ended = Atomic(false)

    final var isEnded: Bool { ended.load(ordering: .acquiring) }

    final func end() {
        ended.store(true, ordering: .sequentiallyConsistent)
    }
}

/// One observer of a publisher's elements, and its lifetime, in one object: two would make delivery to many slower.
final class Subscriber<Element: Sendable>: Subscription, @unchecked Sendable {
    // Sendable because the superclass protects all mutable state.

    /// Identifies this subscription and its token in the process; never 0.
    let id: UInt64
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
        isListener = observer.isListener
        onReceive = observer.onReceive
        let kind = observer.isOnMainActor ? DeliveryQueue.Kind.listeningOnMainActor : observer.queue.map { .listeningOn($0) }
        post = kind.map { DeliveryQueue(group: UniqueNumber.next(), $0).post }
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
}

extension Array {
    /// Removes a subscriber, if it is in the list of those of a publisher in the order of subscription.
    mutating func remove<Value>(_ subscriber: Subscriber<Value>) where Element == Subscriber<Value> {
        // They are sorted by their numbers, so that removal from a long list needs no linear search.
        var range = indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if self[middle].id == subscriber.id {
                remove(at: middle)
                return
            }
            range = self[middle].id < subscriber.id ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
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
    static func listener(on queue: DispatchQueue? = nil, _ onReceive: @escaping @Sendable (Element) -> Void) -> Observer {
        Observer(queue: queue, onReceive: onReceive, onFinish: { $0.end() })
    }

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
