import Dispatch
import FoundationSubset

/// The deliveries in progress on a thread: a change made by a listener is delivered after the change that the listener is receiving.
final class DeliveryThread {
    // The deliveries caused by those of a group, in order, and the index of the next one.
    private typealias Frame = (group: UInt64, postponed: [DeliveryQueue.Ticket], next: Int)

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { DeliveryThread.release($0) }
        precondition(code == 0, "the process has no key left for data of its threads (error \(code))")
        return key
    }()

    /// Identifies the thread even after it has ended, unlike the address of this object, which may be reused.
    let number = uniqueNumber()
    private var frames: [Frame] = []
    /// A delivery after which the thread has to wait for space.
    var excess: DeliveryQueue.Ticket?
    /// Whether the thread is reading a value, or delivering a change that was made by reading one.
    private(set) var isReading = false
    /// Called once, at the end of the outermost read in progress.
    var afterReading: (() -> Void)?

    static var current: DeliveryThread {
        if let pointer = pthread_getspecific(key) { return Unmanaged<DeliveryThread>.fromOpaque(pointer).takeUnretainedValue() }
        let thread = DeliveryThread()
        pthread_setspecific(key, Unmanaged.passRetained(thread).toOpaque())
        return thread
    }

    private static func release(_ pointer: UnsafeMutableRawPointer?) {
        if let pointer { Unmanaged<DeliveryThread>.fromOpaque(pointer).release() }
    }

    var hasPostponed: Bool {
        frames.last.map { $0.next < $0.postponed.count } ?? false
    }

    /// Whether a delivery of the queue is postponed until after the current one.
    func hasPostponed(_ queue: DeliveryQueue) -> Bool {
        frames.last.map { $0.postponed[$0.next...].contains { $0.queue === queue } } ?? false
    }

    /// Postpones a delivery until after the current one.
    func postpone(_ ticket: DeliveryQueue.Ticket) {
        frames[frames.count - 1].postponed.append(ticket)
    }

    /// Postpones deliveries until after the current one of the same group, if there is one.
    func postpone(_ tickets: some Sequence<DeliveryQueue.Ticket>, group: UInt64) {
        guard let index = frames.lastIndex(where: { $0.group == group }) else { return }
        frames[index].postponed.append(contentsOf: tickets)
    }

    func isDelivering(_ group: UInt64) -> Bool {
        frames.contains { $0.group == group }
    }

    /// Reads a value, or makes and delivers a change that is part of reading one.
    func reading<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let wasReading = isReading
        isReading = true
        defer {
            isReading = wasReading
            if !wasReading, let action = afterReading.take() { action() }
        }
        return try body()
    }

    /// Runs deliveries of a group, and then those that they caused.
    func perform(group: UInt64, _ body: () -> Void) {
        frames.append((group, [], 0))
        body()
        let index = frames.count - 1
        var rest = DeliveryQueue.turn
        while frames[index].next < frames[index].postponed.count {
            let ticket = frames[index].postponed[frames[index].next]
            frames[index].next += 1
            rest -= 1
            if rest > 0 {
                ticket.queue.deliver(upTo: ticket.position, on: self)
            } else if ticket.queue.take() {
                // Listeners may trigger each other endlessly, which other threads continue.
                DeliveryThreads.shared.add([ticket.queue])
            }
        }
        frames.removeLast()
        if frames.isEmpty, let excess = excess.take() { waitForRoom([excess]) }
    }

    /// Waits for space, unless called inside a listener or on the queue of a store.
    func waitForRoom(_ tickets: some Sequence<DeliveryQueue.Ticket>) {
        guard tickets.contains(where: { $0.isExcess }), frames.isEmpty, !DispatchQueueExecutor.isAnyCurrent else { return }
        for ticket in tickets where ticket.isExcess { ticket.queue.waitForRoom(at: ticket.position) }
    }
}

/// The deliveries of a change, which must run without holding a lock.
struct Deliveries: Sendable {
    // Usually one.
    private var tickets: [DeliveryQueue.Ticket] = []
    private var firstForReaders: Int?
    private var firstForListeners: Int?

    var isEmpty: Bool { tickets.isEmpty }

    /// Appends a delivery to a queue. May be called under the lock that determines the order.
    mutating func append(to queue: DeliveryQueue, _ run: @escaping @Sendable () -> Void) {
        let ticket = queue.append(run)
        let first = queue.isForReaders ? firstForReaders : firstForListeners
        // Also for several changes, this thread makes all deliveries of the first queue of each kind.
        if let first, tickets[first].queue === queue { return tickets[first] = ticket }
        if tickets.last?.queue === queue { tickets.removeLast() }
        if first == nil {
            if queue.isForReaders { firstForReaders = tickets.count } else { firstForListeners = tickets.count }
        }
        tickets.append(ticket)
    }

    private var listeners: [DeliveryQueue.Ticket] { tickets.filter { !$0.queue.isForReaders } }

    /// Runs the deliveries on this thread, unless another one owns their queues; those caused by a listener run after the current one.
    func deliver() {
        guard let group = tickets.first?.queue.group else { return }
        let thread = DeliveryThread.current
        guard !thread.isDelivering(group) else {
            deliver(forReaders: true, on: thread)
            return thread.postpone(listeners, group: group)
        }
        thread.perform(group: group) {
            // Readers first: a listener may be slow.
            deliver(forReaders: true, on: thread)
            let waiting = tickets.count > 1 ? listeners.dropFirst() : []
            if !waiting.isEmpty { DeliveryThreads.shared.offer(waiting.map(\.queue)) }
            deliver(forReaders: false, on: thread)
        }
        thread.waitForRoom(tickets)
    }

    private func deliver(forReaders: Bool, on thread: DeliveryThread) {
        for ticket in tickets where ticket.queue.isForReaders == forReaders {
            ticket.queue.deliver(upTo: ticket.position, on: thread)
        }
    }

    /// Runs the deliveries without user code, and passes the others to other threads.
    func handOver() {
        guard let group = tickets.first?.queue.group else { return }
        let thread = DeliveryThread.current
        thread.perform(group: group) {
            for ticket in tickets where !ticket.queue.runsUserCode { ticket.queue.deliver(upTo: ticket.position, on: thread) }
        }
        // Readers first.
        let others = tickets.filter { $0.queue.isForReaders && $0.queue.runsUserCode } + listeners
        DeliveryThreads.shared.add(others.map(\.queue).filter { $0.take() })
    }

    /// Waits until the deliveries have run, on any thread, up to a short time limit.
    func wait() async {
        let deadline = DispatchTime.now() + DeliveryQueue.patience
        for ticket in tickets { await ticket.queue.waitForDelivery(at: ticket.position, until: deadline) }
    }
}
