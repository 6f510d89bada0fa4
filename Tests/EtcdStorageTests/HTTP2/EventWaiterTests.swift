import Dispatch
import Foundation
import ObservableStorage
import Testing

@testable import EtcdStorage

@Suite("EventWaiter", .timeLimit(.minutes(10)))
struct EventWaiterTests {
    /// An actor with a queue, as a connection is.
    private actor Waiting {
        nonisolated let executor: DispatchQueueExecutor
        private nonisolated let waiter: EventWaiter
        /// The event that occurs at present.
        private var event: UInt32?
        private nonisolated let (beginnings, begin) = AsyncStream.makeStream(of: UInt32.self)

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            executor.asUnownedSerialExecutor()
        }

        init(isPreferred: Bool = false) {
            executor = DispatchQueueExecutor(label: "EventWaiterTests", isPreferred: isPreferred)
            waiter = EventWaiter(queue: executor.queue)
        }

        func wait(for id: UInt32 = 1, until deadline: ContinuousClock.Instant = .distant, isOver: Bool = false) async -> EventWaiter.Wake {
            var hasBegun = false
            return await waiter.waitOnQueue(until: deadline) { [begin] in
                if !hasBegun { begin.yield(id) }
                hasBegun = true
                return isOver || self.event == id
            }
        }

        nonisolated func wait(
            until deadline: ContinuousClock.Instant = .distant, unless isOver: @escaping @Sendable () -> Bool
        ) async {
            await waiter.wait(until: deadline) {
                self.begin.yield(0)
                return isOver()
            }
        }

        func wakeFinished() {
            waiter.wakeFinished()
        }

        var isWaiting: Bool { waiter.isWaiting }

        func wake(_ id: UInt32 = 1) {
            event = id
            waiter.wakeFinished()
            event = nil
        }

        func wakeAll() {
            waiter.wakeAll()
        }

        /// Returns when some more calls wait.
        nonisolated func untilWaiting(_ count: Int = 1) async {
            for await _ in beginnings.prefix(count) {}
            // A call waits by the time at which the actor does something else.
            await pass()
        }

        private func pass() {}

        /// Lets the waiting call continue, cancels its task, and starts another call, in an order in which the cancellation comes last.
        func wakeAndCancel(_ task: Task<EventWaiter.Wake, Never>) -> Task<EventWaiter.Wake, Never> {
            wake(1)
            // This enqueues the call on this actor at once.
            let next = Task { await wait() }
            task.cancel()
            return next
        }

        /// Waits for an event, which comes as soon as the call waits.
        func waitAndWake(until deadline: ContinuousClock.Instant) async -> EventWaiter.Wake {
            // This enqueues the event on this actor at once.
            Task { wake() }
            return await wait(until: deadline)
        }
    }

    @Test("An event lets the call continue that waits for it, and no other")
    func event() async {
        let waiting = Waiting()
        async let first = waiting.wait(for: 1)
        async let second = waiting.wait(for: 2)
        await waiting.untilWaiting(2)
        await waiting.wake(1)
        #expect(await first == .event)
        await waiting.wake(1)
        async let third = waiting.wait(for: 1)
        await waiting.untilWaiting()
        await waiting.wakeAll()
        #expect(await second == .event)
        #expect(await third == .event)
    }

    @Test("A call whose condition holds does not wait, even if its deadline has passed or its task is cancelled")
    func condition() async {
        let waiting = Waiting()
        #expect(await waiting.wait(until: .now - .seconds(1), isOver: true) == .event)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await waiting.wait(isOver: true)
        }
        task.cancel()
        #expect(await task.value == .event)
    }

    @Test("A deadline may be earlier or later than the one before")
    func deadlines() async {
        let waiting = Waiting()
        for _ in 0..<3 {
            #expect(await waiting.waitAndWake(until: .distant) == .event)
            #expect(await waiting.wait(until: .now + .milliseconds(30)) == .deadlineExceeded)
            #expect(await waiting.waitAndWake(until: .distant) == .event)
            #expect(await waiting.wait(until: .now + .milliseconds(1)) == .deadlineExceeded)
        }
    }

    @Test("Each of several calls waits until its own deadline")
    func severalDeadlines() async {
        let waiting = Waiting()
        async let last = waiting.wait(for: 100)
        await waiting.untilWaiting()
        await withTaskGroup(of: EventWaiter.Wake.self) { group in
            for number in 1..<40 as Range<UInt32> {
                group.addTask {
                    let deadline = ContinuousClock.now + .milliseconds(Int(number * 7 % 40))
                    let wake = await waiting.wait(for: number, until: deadline)
                    #expect(.now >= deadline)
                    return wake
                }
            }
            for await wake in group { #expect(wake == .deadlineExceeded) }
        }
        await waiting.wake(100)
        #expect(await last == .event)
    }

    @Test("A deadline that has passed, or lies years ahead, is one as well")
    func extremes() async {
        let waiting = Waiting()
        #expect(await waiting.wait(until: .now - .seconds(1_000_000)) == .deadlineExceeded)
        async let wake = waiting.wait(until: .now + .seconds(1_000_000_000_000))
        await waiting.untilWaiting(2)
        await waiting.wake()
        #expect(await wake == .event)
    }

    @Test("Cancelling the task lets its call continue, also if it was cancelled before, on each kind of queue", arguments: [false, true])
    func cancellation(isPreferred: Bool) async {
        let waiting = Waiting(isPreferred: isPreferred)
        let task = Task { [await waiting.wait(), await waiting.wait()] }
        await waiting.untilWaiting()
        task.cancel()
        #expect(await task.value == [.cancelled, .cancelled])
    }

    @Test("A cancellation that comes after the event does not end the call of another task")
    func lateCancellation() async {
        let waiting = Waiting()
        let task = Task { await waiting.wait() }
        await waiting.untilWaiting()
        let next = await waiting.wakeAndCancel(task)
        #expect(await task.value == .event)
        await waiting.untilWaiting()
        await waiting.wake()
        #expect(await next.value == .event)
    }

    @Test("A call that waits for a condition continues as soon as that is checked and holds")
    func finished() async {
        let waiting = Waiting()
        let isOver = Lock(false)
        async let end: Void = waiting.wait { isOver.withLock { $0 } }
        await waiting.untilWaiting()
        await waiting.wakeFinished()
        #expect(await waiting.isWaiting)
        isOver.withLock { $0 = true }
        await waiting.wakeFinished()
        await end
        #expect(await !waiting.isWaiting)
    }

    @Test("A call that waits for a condition ends at its deadline, and when its task is cancelled, also if it was before")
    func unfinished() async {
        let waiting = Waiting()
        await waiting.wait(until: .now + .milliseconds(1)) { false }
        await waiting.wait(until: .now - .seconds(1)) { false }
        let task = Task {
            await waiting.wait { false }
            await waiting.wait { false }
        }
        await waiting.untilWaiting(3)
        task.cancel()
        await task.value
        #expect(await !waiting.isWaiting)
    }

    @Test("A deadline needs no thread of the pool, which the program may keep busy")
    func busyPool() throws {
        let (started, ended, given) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let blockers = ProcessInfo.processInfo.activeProcessorCount
        for _ in 0..<blockers {
            Task {
                started.signal()
                Self.block(until: ended)
            }
        }
        defer { for _ in 0..<blockers { ended.signal() } }
        // This test has a thread of the pool itself, so that the last one may have to wait for its turn.
        for _ in 1..<blockers { started.wait() }
        let waiting = Waiting(isPreferred: true)
        Task(executorPreference: waiting.executor) {
            if await waiting.wait(until: .now + .milliseconds(1)) == .deadlineExceeded { given.signal() }
        }
        #expect(given.wait(timeout: .now() + 60) == .success)
    }

    private static func block(until semaphore: DispatchSemaphore) {
        semaphore.wait()
    }
}
