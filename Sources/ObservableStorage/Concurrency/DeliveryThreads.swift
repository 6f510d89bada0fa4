import Dispatch

/// Threads that run the deliveries of queues without a delivering thread: one at first, and one more whenever all are blocked.
final class DeliveryThreads: Sendable {
    private struct State {
        // Taken queues that wait for a thread.
        var ready: [DeliveryQueue] = []
        var next = 0
        // Queues from which another thread is about to deliver: those offered recently, and those offered earlier, which are overdue.
        var offered: [DeliveryQueue] = []
        var overdue: [DeliveryQueue] = []
        var isOfferTimed = false
        // Threads by number: those that make progress, and those that are blocked in a slow listener.
        var working: Set<Int> = []
        var stuck: Set<Int> = []
        var started = 0
        var turns = 0
        var isWatched = false

        var isEmpty: Bool { next == ready.count }

        mutating func popFirst() -> DeliveryQueue? {
            guard !isEmpty else { return nil }
            defer { next += 1 }
            return ready[next]
        }

        mutating func startThread() -> Int {
            started += 1
            working.insert(started)
            return started
        }

        /// Whether a check of the threads has to be scheduled.
        mutating func needsWatch() -> Bool {
            guard !isWatched, !isEmpty else { return false }
            isWatched = true
            return true
        }
    }

    static let shared = DeliveryThreads()

    // A thread that takes longer for one turn is blocked in a slow listener.
    private static let interval: DispatchTimeInterval = .milliseconds(2)
    private let watcher = DispatchQueue(label: "ObservableStorage delivery watcher")
    private let state = Lock(State())

    /// Runs the deliveries of queues that the caller owns.
    func add(_ queues: [DeliveryQueue]) {
        guard !queues.isEmpty else { return }
        let (thread, watches) = state.withLock { state -> (Int?, Bool) in
            state.ready += queues
            return state.working.isEmpty ? (state.startThread(), false) : (nil, state.needsWatch())
        }
        if let thread { start(thread) }
        if watches { watch(turns: nil) }
    }

    /// Runs the deliveries of queues if the caller, which is about to, does not begin in time.
    func offer(_ queues: [DeliveryQueue]) {
        let isTimed = state.withLock { state in
            state.offered += queues
            defer { state.isOfferTimed = true }
            return state.isOfferTimed
        }
        if !isTimed { takeOverdue() }
    }

    /// Takes the queues that were offered and not begun in time.
    private func takeOverdue() {
        watcher.asyncAfter(deadline: .now() + DeliveryQueue.patience) { [self] in
            let (overdue, isTimed) = state.withLock { state in
                defer { (state.overdue, state.offered) = (state.offered, []) }
                state.isOfferTimed = !state.offered.isEmpty
                return (state.overdue, state.isOfferTimed)
            }
            if isTimed { takeOverdue() }
            add(overdue.filter { $0.take() })
        }
    }

    private func start(_ number: Int) {
        // A serial queue gets its own thread, even while tasks occupy all threads of the global queues.
        DispatchQueue(label: "ObservableStorage deliveries").async { [self] in
            let thread = DeliveryThread.current
            while let queue = next(for: number) {
                thread.perform(group: queue.group) {
                    if queue.takeTurn(on: thread) { add([queue]) }
                }
            }
        }
    }

    private func next(for number: Int) -> DeliveryQueue? {
        let (queue, watches) = state.withLock { state in
            state.turns += 1
            if state.stuck.remove(number) != nil { state.working.insert(number) }
            let queue = state.popFirst()
            if state.isEmpty {
                state.ready = []
                state.next = 0
            }
            if queue == nil { state.working.remove(number) }
            return (queue, state.needsWatch())
        }
        if watches { watch(turns: nil) }
        return queue
    }

    /// Checks after an interval whether the threads have made progress since a number of turns.
    private func watch(turns: Int?) {
        watcher.asyncAfter(deadline: .now() + Self.interval) { [self] in
            let (thread, now) = state.withLock { state -> (Int?, Int?) in
                guard !state.isEmpty else {
                    state.isWatched = false
                    return (nil, nil)
                }
                if state.turns == turns {
                    state.stuck.formUnion(state.working)
                    state.working = []
                }
                return (state.working.isEmpty ? state.startThread() : nil, state.turns)
            }
            if let thread { start(thread) }
            if let now { watch(turns: now) }
        }
    }
}
