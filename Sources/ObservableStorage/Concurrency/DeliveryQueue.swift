import Dispatch
import Synchronization

/// Runs deliveries in the order in which they were appended, on one thread at a time, without holding a lock.
///
/// The thread that appended a delivery runs it, after a limited number of earlier ones, unless another thread is already delivering from
/// the queue. Any more are passed to ``DeliveryThreads``, so that no thread delivers for others endlessly.
final class DeliveryQueue: Sendable {
    /// A closure in a structure: a generic container would wrap it in another closure, which is allocated, each time it is moved.
    struct Delivery: Sendable {
        let run: @Sendable () -> Void
    }

    /// The maximum number of queued deliveries. A thread that appends more waits for space, at most for ``patience``.
    static let capacity = 256
    /// The number of deliveries that a thread runs before it passes the rest to another one.
    static let turn = 64
    /// The maximum time to wait; limited, because the listener may be waiting for a lock that the caller holds.
    static let patience: DispatchTimeInterval = .milliseconds(100)

    /// The kind of the deliveries, which determines where they may run.
    enum Kind {
        /// They fill the buffers of readers. Creating the element may run user code.
        case reading(runsUserCode: Bool)
        case listening
        /// They call one listener, on its own queue.
        case listeningOn(DispatchQueue)
        /// They call one listener, on the main actor: at once if they are posted there.
        case listeningOnMainActor
    }

    /// A delivery's position in its queue, and whether it exceeds the capacity.
    typealias Ticket = (queue: DeliveryQueue, position: UInt64, isExcess: Bool)

    private struct State {
        var deliveries: [Delivery?] = []
        var next = 0
        var appended: UInt64 = 0
        var completed: UInt64 = 0
        /// Whether a thread owns the queue: it delivers from it, or is about to.
        var isTaken = false
        var waiters: [(position: UInt64, wake: @Sendable () -> Void)] = []

        var isEmpty: Bool { next == deliveries.count }

        mutating func popFirst() -> Delivery? {
            guard !isEmpty else { return nil }
            let delivery = deliveries[next].take()
            next += 1
            if isEmpty {
                // A small capacity is kept: most queues never hold more than one delivery.
                deliveries.removeAll(keepingCapacity: next <= DeliveryQueue.turn)
                next = 0
            } else if next >= DeliveryQueue.capacity {
                deliveries.removeFirst(next)
                next = 0
            }
            return delivery
        }
    }

    /// Identifies the queues of one store, or one publisher: a delivery of a group follows the one that caused it.
    let group: UInt64
    let kind: Kind
    // Accessed on the listener's queue only.
    private let isDelivering = Atomic(false)
    private let state = Lock(State())

    init(group: UInt64, _ kind: Kind) {
        self.group = group
        self.kind = kind
    }

    /// Whether the deliveries fill buffers, which never waits for a listener.
    var isForReaders: Bool {
        if case .reading = kind { true } else { false }
    }

    var runsUserCode: Bool {
        if case .reading(runsUserCode: false) = kind { false } else { true }
    }

    /// Appends a delivery without running it; may be called under the lock that determines the order.
    func append(_ run: @escaping @Sendable () -> Void) -> Ticket {
        state.withLock { state in
            state.deliveries.append(Delivery(run: run))
            state.appended += 1
            return (self, state.appended, state.appended - state.completed > UInt64(Self.capacity))
        }
    }

    /// Delivers up to a position on this thread, unless another one owns the queue.
    func deliver(upTo position: UInt64, on thread: DeliveryThread) {
        let first = state.withLock { state -> Delivery? in
            guard !state.isTaken, state.completed < position, let first = state.popFirst() else { return nil }
            state.isTaken = true
            return first
        }
        guard let first, case (let isReached?, let isExhausted) = run(first, upTo: position, on: thread) else { return }
        // Deliveries caused by a listener stay in order, across queues.
        if !isReached, !isExhausted { thread.postpone((self, position, false)) }
        if isExhausted || !thread.hasPostponed(self) { return DeliveryThreads.shared.add([self]) }
        state.withLock { $0.isTaken = false }
        DeliveryThreads.shared.offer([self])
    }

    /// Runs a limited number of deliveries for a caller that owns the queue; fewer if the thread has to wait for space in a listener's queue.
    ///
    /// - Returns: whether deliveries are left, and the caller still owns the queue.
    func takeTurn(on thread: DeliveryThread) -> Bool {
        guard let first = state.withLock({ $0.popFirst() }) else { return false }
        return run(first, upTo: .max, on: thread).isReached != nil
    }

    /// Takes ownership of the queue, unless it is empty or taken.
    func take() -> Bool {
        state.withLock { state in
            guard !state.isTaken, !state.isEmpty else { return false }
            state.isTaken = true
            return true
        }
    }

    /// Runs a delivery and the following ones.
    ///
    /// - Returns: whether the position was reached, nil if no deliveries are left and the queue is free; and whether the limit was reached.
    private func run(_ first: Delivery, upTo position: UInt64, on thread: DeliveryThread) -> (
        isReached: Bool?, isExhausted: Bool
    ) {
        var delivery = first
        var rest = Self.turn
        while true {
            delivery.run()
            rest -= 1
            let mayContinue = rest > 0 && !thread.hasPostponed && (position != .max || thread.excess == nil)
            let (following, isReached) = next(upTo: position, ifAny: mayContinue)
            guard let following else { return (isReached, rest == 0) }
            delivery = following
        }
    }

    private func next(upTo position: UInt64, ifAny mayContinue: Bool) -> (delivery: Delivery?, isReached: Bool?) {
        let (delivery, isReached, woken) = state.withLock { state -> (Delivery?, Bool?, [@Sendable () -> Void]) in
            state.completed += 1
            var woken: [@Sendable () -> Void] = []
            if !state.waiters.isEmpty {
                let completed = state.completed
                woken = state.waiters.filter { $0.position <= completed }.map(\.wake)
                state.waiters.removeAll { $0.position <= completed }
            }
            guard !state.isEmpty else {
                state.isTaken = false
                return (nil, nil, woken)
            }
            guard mayContinue, state.completed < position, let delivery = state.popFirst() else {
                return (nil, state.completed >= position, woken)
            }
            return (delivery, nil, woken)
        }
        for wake in woken { wake() }
        return (delivery, isReached)
    }
}

extension DeliveryQueue {
    // The queue of the listener that the deliveries call.
    private var listenersQueue: DispatchQueue? {
        switch kind {
        case .reading, .listening: nil
        case .listeningOn(let queue): queue
        case .listeningOnMainActor: .main
        }
    }

    /// Appends a delivery to a listener with its own queue, and schedules it there, or runs it on the main actor: after those posted before
    /// it, and after the current one if it is posted by a delivery.
    func post(_ run: @escaping @Sendable () -> Void) {
        guard let queue = listenersQueue else { return }
        let thread = DeliveryThread.current
        let ticket = append(run)
        if case .listeningOnMainActor = kind, MainActor.isCurrent { return deliver(on: thread, queue) }
        if take() { deliverLater(on: queue) }
        if ticket.isExcess { thread.excess = ticket }
    }

    private func deliverLater(on queue: DispatchQueue) {
        queue.async { self.deliver(on: .current, queue) }
    }

    // One call at a time; each runs the pending deliveries.
    private func deliver(on thread: DeliveryThread, _ queue: DispatchQueue) {
        guard !isDelivering.exchange(true, ordering: .relaxed) else { return }
        var isLeft = false
        thread.perform(group: group) { isLeft = takeTurn(on: thread) }
        isDelivering.store(false, ordering: .relaxed)
        if isLeft { deliverLater(on: queue) }
    }

    /// Waits until a position is within the capacity, up to a time limit.
    func waitForRoom(at position: UInt64, for patience: DispatchTimeInterval = DeliveryQueue.patience) {
        let semaphore = DispatchSemaphore(value: 0)
        guard wake(after: position - min(position, UInt64(Self.capacity)), { semaphore.signal() }) else { return }
        _ = semaphore.wait(timeout: .now() + patience)
    }

    /// Waits until the delivery at a position has run, or until a deadline.
    func waitForDelivery(at position: UInt64, until deadline: DispatchTime) async {
        let end = AsyncStream<Never> { continuation in
            guard wake(after: position, { continuation.finish() }) else { return continuation.finish() }
            DispatchQueue.global().asyncAfter(deadline: deadline) { continuation.finish() }
        }
        for await _ in end {}
    }

    var hasWaiters: Bool {
        state.withLock { !$0.waiters.isEmpty }
    }

    private func wake(after position: UInt64, _ wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.completed < position else { return false }
            state.waiters.append((position, wake))
            return true
        }
    }
}
