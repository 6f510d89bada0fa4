import Dispatch
import Foundation
import Observation
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

@testable import ObservableStorage

/// A listener that blocks in its first call until it is allowed to continue.
private final class BlockedListener: Sendable {
    let seen = Recorder<Int>()
    let threads = Recorder<String?>()
    private let entered = Recorder<Void>()
    private let goOn = DispatchSemaphore(value: 0)

    func hear(_ change: Change<Int>) {
        threads.record(Thread.current.name)
        if seen.elements.isEmpty {
            entered.record(())
            goOn.wait()
        }
        seen.record(change.newValue)
    }

    /// Returns when the listener has been called.
    func isCalled() async throws {
        _ = try await entered.elements(count: 1)
    }

    func release() {
        goOn.signal()
    }
}

extension Recorder where Element == Void {
    /// Runs a closure on a separate thread, and records that it has returned.
    fileprivate static func detached(_ body: @escaping @Sendable () -> Void) -> Recorder {
        let returned = Recorder()
        Thread.detachNewThread {
            body()
            returned.record(())
        }
        return returned
    }
}

/// Takes about 20 us, as a listener that draws would.
private func work() {
    let end = ContinuousClock.now + .microseconds(20)
    while ContinuousClock.now < end {}
}

@Suite("Slow listeners", .timeLimit(.minutes(10)))
struct SlowListenerTests {
    private let backend = InMemoryBackend()
    private let store: ObservableStore
    private let slow = BlockedListener()

    init() throws {
        store = try ObservableStore(backend: backend)
    }

    @Test("One that does not return delays neither readers, nor other keys' listeners, nor writers, nor the storage")
    func blocked() async throws {
        let texts = Recorder<String>()
        let tokens = [
            store.addUpdateListener(for: Keys.count) { [slow] in slow.hear($0) },
            store.addUpdateListener(for: Keys.text) { texts.record($0.newValue) },
        ]
        let writer = Recorder.detached { [store] in store[Keys.count] = 1 }
        defer { slow.release() }
        try await slow.isCalled()

        store[Keys.text] = "a"
        try #require(texts.elements == ["a"])
        store[Keys.count] = 2
        #expect(store[Keys.count] == 2)
        for await value in store.values(of: Keys.count) {
            #expect(value == 2)
            break
        }
        let changes = store.changes(of: Keys.count)
        store[Keys.count] = 3
        for await change in changes {
            #expect(change.newValue == 3)
            break
        }
        try await store.flush()
        #expect(backend.load().values == ["count": 3, "text": "a"])
        #expect(writer.elements.isEmpty)

        slow.release()
        #expect(try await slow.seen.elements(count: 3) == [1, 2, 3])
        _ = try await writer.elements(count: 1)
        withExtendedLifetime(tokens) {}
    }

    @Test("One that receives another store's change and does not return delays only the listeners of its key")
    func blockedByExternalChange() async throws {
        let texts = Recorder<String>()
        let tokens = [
            store.addUpdateListener(for: Keys.count) { [slow] in slow.hear($0) },
            store.addUpdateListener(for: Keys.text) { texts.record($0.newValue) },
        ]
        _ = try backend.edit { entries in
            entries["count"] = 1
            entries["text"] = "a"
        }
        defer { slow.release() }
        try await slow.isCalled()

        // Delivered by the same check, whose first part has not ended.
        #expect(try await texts.elements(count: 1) == ["a"])
        store[Keys.note] = "kept"
        try await store.flush()
        _ = try backend.edit { $0["text"] = "b" }
        #expect(try await texts.elements(count: 2) == ["a", "b"])
        #expect(backend.load().values == ["count": 1, "text": "b", "note": "kept"])

        slow.release()
        #expect(try await slow.seen.elements(count: 1) == [1])
        withExtendedLifetime(tokens) {}
    }

    @Test("One that does not return delays no other key that changed together with its own")
    func blockedInTransaction() async throws {
        store[Keys.count] = 1
        store[Keys.text] = "a"
        let texts = Recorder<String>()
        let tokens = [
            store.addUpdateListener(for: Keys.count) { [slow] in slow.hear($0) },
            store.addUpdateListener(for: Keys.text) { texts.record($0.newValue) },
        ]
        let writer = Recorder.detached { [store] in store.reset() }
        defer { slow.release() }
        try await slow.isCalled()
        #expect(try await texts.elements(count: 1) == [""])
        #expect(writer.elements.isEmpty)
        slow.release()
        _ = try await writer.elements(count: 1)
        #expect(slow.seen.elements == [0])
        withExtendedLifetime(tokens) {}
    }

    @Test("A writer delivers its own change, and leaves later ones to another thread")
    func notForOthers() async throws {
        let token = store.addUpdateListener(for: Keys.count) { [slow] in slow.hear($0) }
        let writer = Recorder.detached { [store] in
            Thread.current.name = "writer"
            store[Keys.count] = 1
        }
        try await slow.isCalled()
        for number in 2...100 { store[Keys.count] = number }
        slow.release()
        _ = try await writer.elements(count: 1)
        #expect(try await slow.seen.elements(count: 100) == Array(1...100))
        // On a busy machine another thread may have been faster with the first one.
        #expect(slow.threads.elements.filter { $0 == "writer" }.count <= 1)
        withExtendedLifetime(token) {}
    }

    @Test("Writers that are faster than a listener wait for it: the queue never exceeds its limit", arguments: [false, true])
    func room(hasQueue: Bool) async throws {
        let (each, writers) = (10_000, 2)
        let seen = Recorder<UInt64>()
        let longest = Atomic<UInt64>(0)
        let queue = hasQueue ? DispatchQueue(label: "listener") : nil
        let token = store.addUpdateListener(for: Keys.count, on: queue) { [store] change in
            work()
            longest.max(store.revision - change.revision, ordering: .relaxed)
            seen.record(change.revision)
        }
        let threads = (0..<writers).map { writer in
            Recorder.detached { [store] in for number in 1...each { store[Keys.count] = 1 + number * writers + writer } }
        }
        for thread in threads { _ = try await thread.elements(count: 1) }
        let total = UInt64(each * writers)
        #expect(try await seen.elements(count: each * writers) == Array(1...total))
        // On a busy machine a writer may occasionally time out.
        #expect(longest.load(ordering: .relaxed) <= UInt64(each))
        withExtendedLifetime(token) {}
    }

    @Test("A writer waiting for space continues when there is some")
    func waitsForRoom() async throws {
        let queue = DeliveryQueue(group: 1, .listening)
        var last: DeliveryQueue.Ticket?
        for _ in 0...DeliveryQueue.capacity { last = queue.append {} }
        let ticket = try #require(last)
        #expect(ticket.isExcess)
        let events = Recorder<String>()
        let returned = Recorder.detached {
            ticket.queue.waitForRoom(at: ticket.position, for: .seconds(3600))
            events.record("went on")
        }
        // A waiter is counted once it is registered in the queue.
        while !queue.hasWaiters { await Task.yield() }
        events.record("made room")
        queue.deliver(upTo: 1, on: .current)
        _ = try await returned.elements(count: 1)
        #expect(events.elements == ["made room", "went on"])
    }

    @Test("Deliveries to a listener with its own queue end at the limit of that queue, not at the end of the turn")
    func endsAtLimit() async throws {
        let blocked = DispatchQueue(label: "listener")
        blocked.suspend()
        let (writers, listener) = (DeliveryQueue(group: 1, .listening), DeliveryQueue(group: 1, .listeningOn(blocked)))
        let posted = Atomic(0)
        for _ in 0..<2 * DeliveryQueue.capacity {
            _ = writers.append {
                listener.post {}
                posted.add(1, ordering: .relaxed)
            }
        }
        #expect(writers.take())
        let made = Recorder.detached {
            let thread = DeliveryThread.current
            for _ in 0...DeliveryQueue.capacity / DeliveryQueue.turn {
                thread.perform(group: 1) { _ = writers.takeTurn(on: thread) }
            }
        }
        _ = try await made.elements(count: 1)
        #expect(posted.load(ordering: .relaxed) == DeliveryQueue.capacity + 1)
        blocked.resume()
    }

    @Test("A writer that holds a lock that the listener needs continues after a while")
    func lockOfTheUser() async throws {
        let lock = DispatchSemaphore(value: 1)
        let isCalled = DispatchSemaphore(value: 0)
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { change in
            isCalled.signal()
            lock.wait()
            seen.record(change.newValue)
            lock.signal()
        }
        let count = DeliveryQueue.capacity + 3
        lock.wait()
        let first = Recorder.detached { [store] in store[Keys.count] = 1 }
        let writer = Recorder.detached { [store] in
            isCalled.wait()
            for number in 2...count { store[Keys.count] = number }
            lock.signal()
        }
        _ = try await writer.elements(count: 1)
        #expect(try await seen.elements(count: count) == Array(1...count))
        _ = try await first.elements(count: 1)
        withExtendedLifetime(token) {}
    }

    @Test("One that answers every change with another one delays its writer no more than others")
    func endless() async throws {
        let isOver = Atomic(false)
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { [store] change in
            seen.record(change.newValue)
            if !isOver.load(ordering: .relaxed) { store[Keys.count] = change.newValue + 1 }
        }
        store[Keys.count] = 1
        isOver.store(true, ordering: .relaxed)
        let last = store[Keys.count]
        let values = try await seen.elements { $0.count >= last }
        #expect(values.prefix(last) == Array(1...last)[...])
        withExtendedLifetime(token) {}
    }

    @Test("The store's queue runs no user code except the body of a transaction, whoever changes what")
    func storeQueue() async throws {
        let isInside = Recorder<String>()
        @Sendable func note(_ place: String, _ store: ObservableStore?) {
            if store?.executor.isCurrent == true { isInside.record(place) }
        }
        let codec = StorageCodec<Int>.custom(
            encode: { try $0.propertyListValue },
            decode: { [weak store] stored in
                note("decoding", store)
                return try Int(propertyListValue: stored)
            })
        let key = StorageKey("coded", codec: codec, default: 0)
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: key) { [weak store] change in
            note("listener", store)
            seen.record(change.newValue)
        }
        let values = store.values(of: key)
        let reader = Task { await values.reduce(into: [Int]()) { $0.append($1) } }
        withObservationTracking {
            _ = store.stored(key).value
        } onChange: { [weak store] in
            note("observation", store)
        }
        _ = try backend.edit { $0["coded"] = 1 }
        _ = try await seen.elements(count: 1)
        try await store.update { [store] transaction in
            transaction[key] = 2
            store[key] = 3
        }
        try await store.flush()
        // A change of another store, found by a flush.
        store[Keys.text] = "a"
        _ = try backend.edit { $0["coded"] = 4 }
        try await store.flush()
        _ = try await seen.elements { $0.contains(4) }
        try await store.close()
        #expect(await reader.value.last == 4)
        #expect(isInside.elements == [])
        withExtendedLifetime(token) {}
    }

    @Test("When a transaction returns, its listeners have been notified", arguments: Fixture.allCases)
    func toldAfterTransaction(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0.newValue) }
        for number in 1...20 {
            try await store.update { $0[Keys.count] = number }
            #expect(seen.elements.last == number)
        }
        #expect(seen.elements == Array(1...20))
        withExtendedLifetime(token) {}
    }
}
