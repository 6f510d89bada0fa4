import ObservableStorage
import Testing

@testable import EtcdStorage

@Suite("EventWaiter", .timeLimit(.minutes(10)))
struct EventWaiterTests {
    /// An actor with a queue, as a connection is.
    private actor Waiting {
        nonisolated let executor: DispatchQueueExecutor
        private let waiter: EventWaiter

        nonisolated var unownedExecutor: UnownedSerialExecutor {
            executor.asUnownedSerialExecutor()
        }

        init(isPreferred: Bool = false) {
            executor = DispatchQueueExecutor(label: "EventWaiterTests", isPreferred: isPreferred)
            waiter = EventWaiter(queue: executor.queue)
        }

        func wait(until deadline: ContinuousClock.Instant) async -> EventWaiter.Wake {
            await waiter.wait(until: deadline)
        }

        func wake() {
            waiter.wake()
        }

        /// Lets the waiting call continue, cancels its task, and starts another call, in an order in which the cancellation comes last.
        func wakeAndCancel(_ task: Task<EventWaiter.Wake, Never>) -> Task<EventWaiter.Wake, Never> {
            waiter.wake()
            // This enqueues the call on this actor at once.
            let next = Task { await wait(until: .distant) }
            task.cancel()
            return next
        }

        /// Waits for an event, which comes as soon as the call waits.
        func waitAndWake(until deadline: ContinuousClock.Instant) async -> EventWaiter.Wake {
            // This enqueues the event on this actor at once.
            Task { wake() }
            return await waiter.wait(until: deadline)
        }

        func untilWaiting() async {
            while !waiter.isWaiting && !Task.isCancelled { await Task.yield() }
        }
    }

    @Test("An event lets the waiting call continue")
    func event() async {
        let waiting = Waiting()
        async let wake = waiting.wait(until: .distant)
        await waiting.untilWaiting()
        await waiting.wake()
        #expect(await wake == .event)
    }

    @Test("An event that comes while no call waits is kept for the next one, once")
    func keptEvent() async {
        let waiting = Waiting()
        await waiting.wake()
        await waiting.wake()
        #expect(await waiting.wait(until: .distant) == .event)
        #expect(await waiting.wait(until: .now + .milliseconds(1)) == .deadlineExceeded)
    }

    @Test("A deadline may be earlier or later than the one before")
    func deadlines() async {
        let waiting = Waiting()
        for _ in 0..<3 {
            #expect(await waiting.waitAndWake(until: .now + .milliseconds(10)) == .event)
            #expect(await waiting.wait(until: .now + .milliseconds(30)) == .deadlineExceeded)
            #expect(await waiting.waitAndWake(until: .distant) == .event)
            #expect(await waiting.wait(until: .now + .milliseconds(1)) == .deadlineExceeded)
        }
    }

    @Test("A deadline that has passed, or lies years ahead, is one as well")
    func extremes() async {
        let waiting = Waiting()
        #expect(await waiting.wait(until: .now - .seconds(1_000_000)) == .deadlineExceeded)
        async let wake = waiting.wait(until: .now + .seconds(1_000_000_000_000))
        await waiting.untilWaiting()
        await waiting.wake()
        #expect(await wake == .event)
    }

    @Test("Cancelling the task lets its call continue, also if it was cancelled before, on each kind of queue", arguments: [false, true])
    func cancellation(isPreferred: Bool) async {
        let waiting = Waiting(isPreferred: isPreferred)
        let task = Task {
            let first = await waiting.wait(until: .distant)
            return [first, await waiting.wait(until: .distant)]
        }
        await waiting.untilWaiting()
        task.cancel()
        #expect(await task.value == [.cancelled, .cancelled])
    }

    @Test("A cancellation that comes after the event does not end the call of another task")
    func lateCancellation() async {
        let waiting = Waiting()
        let task = Task { await waiting.wait(until: .distant) }
        await waiting.untilWaiting()
        let next = await waiting.wakeAndCancel(task)
        #expect(await task.value == .event)
        await waiting.wake()
        #expect(await next.value == .event)
    }
}
