import Synchronization

/// One observer of a publisher's elements.
final class Subscriber<Element: Sendable>: Sendable {
    /// Tells this subscription from every other one in the process; never 0.
    let id: UInt64
    let life: SubscriptionLife
    /// Where the newest element is put, in place of ``receive(_:)``.
    let slot: LatestSlot?
    private let onReceive: @Sendable (Element) -> Void
    private let onFinish: @Sendable () -> Void

    init(_ observer: Observer<Element>) {
        id = SubscriptionCounter.next()
        life = observer.life
        slot = observer.slot
        onReceive = observer.onReceive
        onFinish = observer.onFinish
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
