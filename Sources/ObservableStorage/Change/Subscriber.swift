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
