import Synchronization

/// One receiver of a publisher's elements.
final class Subscriber<Element: Sendable>: Sendable {
    /// Tells this subscription from every other one in the process; never 0.
    let id: UInt64
    private let onReceive: @Sendable (Element) -> Void
    private let onFinish: @Sendable () -> Void
    let life: SubscriptionLife

    init(life: SubscriptionLife, onReceive: @escaping @Sendable (Element) -> Void, onFinish: @escaping @Sendable () -> Void) {
        id = SubscriptionCounter.next()
        self.life = life
        self.onReceive = onReceive
        self.onFinish = onFinish
    }

    func receive(_ element: Element) {
        if !life.isEnded { onReceive(element) }
    }

    func finish() {
        if !life.isEnded { onFinish() }
    }
}

private enum SubscriptionCounter {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
