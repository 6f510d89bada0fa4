import Dispatch
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Update listeners", .timeLimit(.minutes(10)))
struct ListenerTests {
    @Test(
        "A listener receives each change once, in order, on the thread that makes it, before the write returns", arguments: Fixture.allCases
    )
    func order(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let seen = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0) }
        for number in 1...100 {
            store[Keys.count] = number
            #expect(seen.elements.count == number)
        }
        #expect(seen.elements.map(\.newValue) == Array(1...100))
        #expect(seen.elements.map(\.oldValue) == Array(0..<100))
        #expect(seen.elements.map(\.revision) == Array(1...100))
        #expect(seen.elements.allSatisfy { $0.kind == .set && $0.origin == .local && $0.key == "count" })
        withExtendedLifetime(token) {}
    }

    @Test("Concurrent flushes do not take over the delivery of a writer's change", arguments: Fixture.allCases)
    func orderDuringFlushes(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let heard = Lock(0)
        let token = store.addUpdateListener(for: Keys.count) { change in heard.withLock { $0 = change.newValue } }
        var undelivered = 0
        for number in 1...10_000 {
            store[Keys.count] = number
            if heard.withLock({ $0 }) != number { undelivered += 1 }
        }
        #expect(undelivered == 0)
        withExtendedLifetime(token) {}
    }

    @Test("A removal is delivered with the default as the new value", arguments: Fixture.allCases)
    func removal(fixture: Fixture) throws {
        let store = try fixture.make(["count": .integer(5)]).open()
        try store.register(2, for: Keys.count)
        let seen = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0) }
        store.remove(Keys.count)
        #expect(seen.elements == [Change(key: "count", oldValue: 5, newValue: 2, kind: .removed, origin: .local, revision: 1)])
        withExtendedLifetime(token) {}
    }

    @Test("An initial value is delivered first, as a change from itself", arguments: Fixture.allCases)
    func initial(fixture: Fixture) throws {
        let store = try fixture.make(["count": .integer(5)]).open()
        let seen = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Keys.count, initial: true) { seen.record($0) }
        #expect(seen.elements.map(\.newValue) == [5])
        #expect(seen.elements.map(\.oldValue) == [5])
        store[Keys.count] = 6
        #expect(seen.elements.map(\.newValue) == [5, 6])
        withExtendedLifetime(token) {}
    }

    @Test("A set inside a listener is delivered after the change being delivered, whatever its key", arguments: Fixture.allCases)
    func nestedSet(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let seen = Recorder<String>()
        let tokens = [
            store.addUpdateListener(for: Keys.count) { change in
                seen.record("first \(change.newValue)")
                store[Keys.text] = "text \(change.newValue)"
                if change.newValue == 1 { store[Keys.count] = 2 }
            },
            store.addUpdateListener(for: Keys.count) { seen.record("second \($0.newValue)") },
            store.addUpdateListener(for: Keys.text) { seen.record($0.newValue) },
        ]
        store[Keys.count] = 1
        #expect(seen.elements == ["first 1", "second 1", "text 1", "first 2", "second 2", "text 2"])
        withExtendedLifetime(tokens) {}
    }

    @Test(
        "Subscribing inside a listener does not deadlock, and the new listener receives the next change first", arguments: Fixture.allCases)
    func nestedSubscription(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let seen = Recorder<Int>()
        let inner = Lock<ObservationToken?>(nil)
        let token = store.addUpdateListener(for: Keys.count) { change in
            guard change.newValue == 1 else { return }
            let added = store.addUpdateListener(for: Keys.count) { seen.record($0.newValue) }
            inner.withLock { $0 = added }
        }
        store[Keys.count] = 1
        #expect(seen.elements == [])
        store[Keys.count] = 2
        #expect(seen.elements == [2])
        withExtendedLifetime(token) {}
    }

    @Test("Nothing is delivered after a token is cancelled or released", arguments: Fixture.allCases, [true, false])
    func tokens(fixture: Fixture, isCancelled: Bool) throws {
        let store = try fixture.make().open()
        let seen = Recorder<Int>()
        var token: ObservationToken? = store.addUpdateListener(for: Keys.count) { seen.record($0.newValue) }
        store[Keys.count] = 1
        if isCancelled { token?.cancel() } else { token = nil }
        store[Keys.count] = 2
        #expect(seen.elements == [1])
        withExtendedLifetime(token) {}
    }

    @Test("A listener with a queue is called on it, in order, and not after its token was cancelled there", arguments: Fixture.allCases)
    func onQueue(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let queue = DispatchQueue(label: "listeners")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count, on: queue) { change in
            #expect(DispatchQueue.getSpecific(key: key) == true)
            seen.record(change.newValue)
        }
        for number in 1...10 { store[Keys.count] = number }
        #expect(try await seen.elements(count: 10) == Array(1...10))
        queue.sync {
            store[Keys.count] = 11
            token.cancel()
        }
        queue.sync {}
        #expect(seen.elements == Array(1...10))
    }

    @Test("A writer that passes its own token is not notified, all others are", arguments: Fixture.allCases)
    func muting(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let (own, other) = (Recorder<Int>(), Recorder<Int>())
        let queue = DispatchQueue(label: "own")
        let token = store.addUpdateListener(for: Keys.count) { own.record($0.newValue) }
        let queued = store.addUpdateListener(for: Keys.count, on: queue) { own.record($0.newValue) }
        let otherToken = store.addUpdateListener(for: Keys.count) { other.record($0.newValue) }
        try store.set(1, for: Keys.count, muting: token)
        queue.sync {}
        #expect(own.elements == [1])
        try store.set(2, for: Keys.count, muting: queued)
        queue.sync {}
        #expect(own.elements == [1, 2])
        store.remove(Keys.count, muting: token)
        queue.sync {}
        #expect(own.elements == [1, 2, 0])
        #expect(other.elements == [1, 2, 0])
        withExtendedLifetime(otherToken) {}
    }

    @Test("Listeners are notified when the stored value becomes undecodable, and when it can be decoded again", arguments: Fixture.allCases)
    func undecodable(fixture: Fixture) throws {
        let store = try fixture.make(["count": .integer(5)]).open()
        let seen = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0) }
        store[StorageKey<PropertyListValue?>("count")] = .string("many")
        store[Keys.count] = 6
        let changes = seen.elements
        #expect(changes.map(\.newValue) == [5, 6])
        #expect(changes.map(\.oldValue) == [5, 5])
        guard case .undecodable(.undecodable(key: "count", _, _, _))? = changes.first?.kind else {
            Issue.record("\(changes)")
            return
        }
        #expect(changes.last?.kind == .set)
        withExtendedLifetime(token) {}
    }

    @Test(
        "Ten writers times ten listeners are one hundred deliveries, and each listener receives the writes in one order",
        arguments: Fixture.allCases)
    func manyWriters(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let recorders = (0..<10).map { _ in Recorder<Change<Int>>() }
        let tokens = recorders.map { recorder in store.addUpdateListener(for: Keys.count) { recorder.record($0) } }
        await withTaskGroup(of: Void.self) { group in
            for writer in 1...10 { group.addTask { store[Keys.count] = writer } }
        }
        let first = try await recorders[0].elements(count: 10)
        #expect(first.map(\.revision) == Array(1...10))
        #expect(Set(first.map(\.newValue)) == Set(1...10))
        for recorder in recorders { #expect(try await recorder.elements(count: 10) == first) }
        withExtendedLifetime(tokens) {}
    }

    @Test("No change between subscribing and the initial value is lost, and none is delivered twice", arguments: Fixture.allCases)
    func registration(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let writer = Task { for number in 1...1_000 { store[Keys.count] = number } }
        var subscriptions: [(Recorder<Int>, ObservationToken)] = []
        while subscriptions.count < 20 {
            let seen = Recorder<Int>()
            subscriptions.append((seen, store.addUpdateListener(for: Keys.count, initial: true) { seen.record($0.newValue) }))
        }
        await writer.value
        for (seen, token) in subscriptions {
            let values = try await seen.elements { $0.last == 1_000 }
            #expect(values == Array((values.first ?? 0)...1_000))
            withExtendedLifetime(token) {}
        }
    }
}
