import Dispatch
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Retrying writes", .timeLimit(.minutes(10)))
struct FlushScheduleTests {
    private let failure = StorageError.unwritable(file: "unreliable", reason: "read-only", edits: .kept)

    @Test("The delay doubles with each failure, up to half a minute, and is reset by a success")
    func backoff() {
        var backoff = Backoff()
        var waits: [DispatchTimeInterval] = []
        for _ in 0..<11 { waits.append(backoff.fail()) }
        #expect(waits.prefix(3) == [.milliseconds(50), .milliseconds(100), .milliseconds(200)])
        #expect(waits.last == .milliseconds(30_000))
        backoff.succeed()
        let first = backoff.fail()
        #expect(first == .milliseconds(50))
        #expect(backoff.failures == 1)
    }

    @Test("An event matters only after a failure, and repeated events less and less until the next scheduled attempt")
    func hints() {
        var backoff = Backoff()
        var waits = [backoff.hint()]
        _ = backoff.fail()
        for _ in 0..<4 { waits.append(backoff.hint()) }
        _ = backoff.fail()
        waits.append(backoff.hint())
        #expect(waits == [nil, .nanoseconds(0), .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
        backoff.attempt()
        waits = [backoff.hint()]
        backoff.succeed()
        waits.append(backoff.hint())
        #expect(waits == [.nanoseconds(0), nil])
    }

    @Test("One attempt is scheduled: an immediate one before a delayed one, and the earlier of two delayed ones")
    func oneAttempt() throws {
        var schedule = FlushSchedule()
        let (soon, late) = (DispatchTime(uptimeNanoseconds: 1_000_000), DispatchTime(uptimeNanoseconds: 2_000_000))
        var answers = [schedule.enqueue(), schedule.enqueue()]
        #expect(answers == [true, false])
        var numbers = [schedule.schedule(at: soon)]
        #expect(numbers == [nil])
        _ = schedule.beginQueued()
        numbers = [schedule.schedule(at: late), schedule.schedule(at: late), schedule.schedule(at: soon), schedule.schedule(at: late)]
        #expect(numbers == [1, nil, 2, nil])
        answers = [schedule.enqueue(), schedule.begin(1), schedule.begin(2), schedule.begin(2)]
        #expect(answers == [false, false, true, false])
        numbers = [schedule.schedule(at: soon)]
        schedule.cancelTimed()
        answers = [schedule.begin(3), schedule.enqueue()]
        #expect(numbers == [3] && answers == [false, true])
        schedule.cancelTimed()
        answers = [schedule.enqueue()]
        #expect(answers == [false])
    }

    @Test("A suspension cancels every attempt, and allows none until it is resumed once", arguments: ["idle", "queued", "timed"])
    func suspension(from phase: String) throws {
        var schedule = FlushSchedule()
        let time = DispatchTime(uptimeNanoseconds: 1_000_000)
        if phase == "queued" { _ = schedule.enqueue() }
        if phase == "timed" { _ = schedule.schedule(at: time) }
        schedule.suspend()
        schedule.suspend()
        #expect(schedule.isSuspended)
        var answers = [schedule.enqueue(), schedule.beginQueued(), schedule.begin(1)]
        let numbers = [schedule.schedule(at: time)]
        #expect(answers == [false, false, false] && numbers == [nil])
        schedule.cancelTimed()
        #expect(schedule.isSuspended)
        answers = [schedule.resume(), schedule.resume()]
        #expect(answers == [true, false] && !schedule.isSuspended)
        // The attempt that was scheduled before stays cancelled.
        answers = [schedule.begin(1), schedule.enqueue(), schedule.enqueue(), schedule.beginQueued()]
        #expect(answers == [false, true, false, true])
    }

    /// A store that could not write an edit of `count`, and whose next scheduled attempt is half a minute away.
    private func failing(_ backend: UnreliableBackend) async throws -> ObservableStore {
        let store = try ObservableStore(backend: backend)
        await store.withSchedule { schedule in
            for _ in 0..<11 { _ = schedule.writes.fail() }
        }
        let failures = store.failures
        backend.fail(failure)
        store[Keys.count] = 1
        _ = await failures.first { _ in true }
        await store.settle()
        return store
    }

    @Test("After a successful flush, the next edit is written immediately", arguments: Fixture.allCases)
    func recovery(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try await failing(backend)
        backend.fail(nil)
        try await store.flush()
        store[Keys.count] = 2
        await store.settle()
        #expect(try storage.entries == ["count": 2])
        #expect(await store.withSchedule { $0.writes.failures } == 0)
    }

    @Test("After a successful transaction, edits are written immediately", arguments: Fixture.allCases)
    func recoveryByUpdate(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try await failing(backend)
        backend.fail(nil)
        try await store.update { $0[Keys.text] = "two" }
        store[Keys.count] = 2
        await store.settle()
        #expect(try storage.entries == ["count": 2, "text": "two"])
    }

    @Test("An event of the backend retries failed writes immediately", arguments: Fixture.allCases)
    func signOfLife(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try await failing(backend)
        backend.fail(nil)
        await store.isolated { $0.synchronizer.receive(.changed) }
        #expect(await store.withSchedule { $0.writes.hint() } != .nanoseconds(0))
        // The attempt is scheduled for now; its success can be awaited.
        for await availability in store.availabilityUpdates where availability == .available { break }
        #expect(try storage.entries == ["count": 1])
    }

    @Test("Events of the backend retry failed writes immediately again after each scheduled attempt")
    func signsCountAnew() async throws {
        let backend = UnreliableBackend()
        let store = try ObservableStore(backend: backend)
        await store.withSchedule { schedule in
            _ = schedule.writes.fail()
            for _ in 0..<5 { _ = schedule.writes.hint() }
        }
        var failures = store.failures.makeAsyncIterator()
        backend.fail(failure)
        store[Keys.count] = 1
        // The first attempt is that of the edit, the second one the scheduled one.
        for _ in 0..<2 { #expect(await failures.next() == failure) }
        #expect(await store.withSchedule { $0.writes.hint() } == .nanoseconds(0))
        try await store.close(discardingEdits: true)
    }

    @Test("However many flushes fail, the store schedules one attempt")
    func oneTimedAttempt() async throws {
        let start = ContinuousClock.now
        let backend = UnreliableBackend()
        let store = try await failing(backend)
        for _ in 0..<5 {
            await #expect(throws: failure) { try await store.flush() }
            store[Keys.count] += 1
        }
        await store.settle()
        // Opening a store writes nothing: one asynchronous edit, and the requested ones. On a busy machine the scheduled attempt may run.
        let due = Int((ContinuousClock.now - start) / .seconds(30))
        #expect((6...6 + due).contains(backend.edits))
        try await store.close(discardingEdits: true)
    }

    @Test("After a successful check, later failing checks are retried soon")
    func looking() async throws {
        let backend = HookedBackend()
        let store = try ObservableStore(backend: backend)
        await store.withSchedule { schedule in
            for _ in 0..<11 {
                _ = schedule.reads.scheduleRetry()
                schedule.reads.isScheduled = false
            }
        }
        backend.report(.changed)
        await store.settle()
        #expect(await store.withSchedule { $0.reads.failures } == 0)
        await store.withSchedule { schedule in
            for _ in 0..<11 {
                _ = schedule.reads.scheduleRetry()
                schedule.reads.isScheduled = false
            }
        }
        try await store.update { $0[Keys.count] = 1 }
        #expect(await store.withSchedule { $0.reads.failures } == 0)
    }
}

extension ObservableStore {
    /// Changes the schedule of the store's attempts to read and to write.
    func withSchedule<Result: Sendable>(_ body: @Sendable (inout SynchronizationSchedule) -> Result) -> Result {
        synchronizer.assumeIsolated { body(&$0.schedule) }
    }
}
