import Synchronization

/// One receiver of a publisher's elements.
final class Subscriber<Element: Sendable>: Sendable {
    /// Tells this subscription from every other one in the process; never 0.
    let id: UInt64
    private let onReceive: @Sendable (Element) -> Void
    private let onFinish: @Sendable () -> Void
    private let gate = Gate()

    init(onReceive: @escaping @Sendable (Element) -> Void, onFinish: @escaping @Sendable () -> Void) {
        id = SubscriptionCounter.next()
        self.onReceive = onReceive
        self.onFinish = onFinish
    }

    /// Whether the subscription has ended.
    var isEnded: Bool {
        gate.isShut
    }

    /// Ends the subscription: what is queued for it is not delivered any more.
    func cancel() {
        gate.shut()
    }

    func receive(_ element: Element) {
        if !isEnded { onReceive(element) }
    }

    func finish() {
        if !isEnded { onFinish() }
    }
}

private enum SubscriptionCounter {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
