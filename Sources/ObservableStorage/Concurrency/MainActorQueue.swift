import Dispatch
import Synchronization

/// The deliveries to one listener on the main actor: immediate if posted there, and otherwise asynchronous; always in order.
final class MainActorQueue: Sendable {
    private static let key = DispatchSpecificKey<Bool>()
    private static let isMarked: Void = DispatchQueue.main.setSpecific(key: key, value: true)

    private let queue = DeliveryQueue(group: UniqueNumber.next(), .listeningOn(.main))
    // Accessed on the main queue only.
    private let isDelivering = Atomic(false)

    /// Whether the caller runs on the main queue, which is the executor of the main actor.
    ///
    /// The thread does not determine it: after `dispatchMain()`, the main queue runs on any thread on Linux.
    static var isCurrent: Bool {
        _ = isMarked
        return DispatchQueue.getSpecific(key: key) == true
    }

    /// The result of a closure that runs on the main actor, if the caller does; nil otherwise.
    static func ifCurrent<Result: Sendable>(_ body: @MainActor () -> Result?) -> Result? {
        isCurrent ? MainActor.assumeIsolated(body) : nil
    }

    /// Runs a delivery after those posted before it, and after the current one if it is posted by a delivery.
    func post(_ delivery: @escaping DeliveryQueue.Delivery) {
        let thread = DeliveryThread.current
        let ticket = queue.append(delivery)
        if Self.isCurrent { return deliver(on: thread) }
        if queue.take() { deliverLater() }
        if ticket.isExcess { thread.recordExcess(ticket) }
    }

    private func deliverLater() {
        DispatchQueue.main.async { self.deliver(on: .current) }
    }

    // On the main queue, one call at a time; each runs the pending deliveries.
    private func deliver(on thread: DeliveryThread) {
        guard !isDelivering.exchange(true, ordering: .relaxed) else { return }
        var isLeft = false
        thread.perform(group: queue.group) { isLeft = queue.takeTurn(on: thread) }
        isDelivering.store(false, ordering: .relaxed)
        if isLeft { deliverLater() }
    }
}
