import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Streams", .timeLimit(.minutes(10)))
struct StreamTests {
    @Test("values(of:) begins with the current value and ends with the last one", arguments: Fixture.allCases)
    func values(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        store[Keys.count] = 1
        let values = store.values(of: Keys.count)
        let reader = Task {
            var seen: [Int] = []
            for await value in values {
                seen.append(value)
                if value == 1_000 { break }
            }
            return seen
        }
        for number in 2...1_000 { store[Keys.count] = number }
        let seen = await reader.value
        #expect(seen == seen.sorted())
        #expect(seen.last == 1_000)
    }

    @Test("A slow reader of values(of:) receives only the newest one", arguments: Fixture.allCases)
    func newestOnly(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let values = store.values(of: Keys.count)
        for number in 1...1_000 { store[Keys.count] = number }
        try await store.close()
        var seen: [Int] = []
        for await value in values { seen.append(value) }
        #expect(seen == [1_000])
    }

    @Test("values(of:) skips undecodable values", arguments: Fixture.allCases)
    func undecodableValues(fixture: Fixture) async throws {
        let store = try fixture.make(["count": .string("many")]).open()
        let values = store.values(of: Keys.count)
        store[Keys.count] = 1
        store[StorageKey<PropertyListValue?>("count")] = .string("more")
        try await store.close()
        var seen: [Int] = []
        for await value in values { seen.append(value) }
        #expect(seen == [1])
    }

    @Test("A burst of 1,000 writes is 1,000 changes, without an initial one", arguments: Fixture.allCases)
    func changes(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let changes = store.changes(of: Keys.count)
        for number in 1...1_000 { store[Keys.count] = number }
        try await store.close()
        var seen: [Change<Int>] = []
        for await change in changes { seen.append(change) }
        #expect(seen.map(\.newValue) == Array(1...1_000))
        #expect(seen.map(\.revision) == Array(1...1_000))
    }

    @Test("A buffering policy is applied", arguments: Fixture.allCases)
    func bufferingPolicy(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let changes = store.changes(of: Keys.count, bufferingPolicy: .bufferingNewest(2))
        for number in 1...10 { store[Keys.count] = number }
        try await store.close()
        var seen: [Int] = []
        for await change in changes { seen.append(change.newValue) }
        #expect(seen == [9, 10])
    }

    @Test("It is applied to the changes of all keys as well", arguments: Fixture.allCases)
    func bufferingPolicyOfAll(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let changes = store.allChanges(bufferingPolicy: .bufferingNewest(2))
        for number in 1...10 { store[Keys.count] = number }
        store[Keys.note] = "a"
        try await store.close()
        var seen: [PropertyListValue?] = []
        for await change in changes { seen.append(change.newValue) }
        #expect(seen == [.integer(10), .string("a")])
    }

    @Test("allChanges has every key's changes in the order of revisions", arguments: Fixture.allCases)
    func allChanges(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let changes = store.allChanges()
        store[Keys.count] = 1
        store[Keys.note] = "a"
        store[Keys.note] = nil
        try await store.close()
        var seen: [Change<PropertyListValue?>] = []
        for await change in changes { seen.append(change) }
        #expect(
            seen == [
                Change(key: "count", oldValue: nil, newValue: .integer(1), kind: .set, origin: .local, revision: 1),
                Change(key: "note", oldValue: nil, newValue: .string("a"), kind: .set, origin: .local, revision: 2),
                Change(key: "note", oldValue: .string("a"), newValue: nil, kind: .removed, origin: .local, revision: 3),
            ])
    }

    @Test("There can be any number of readers, each with a new stream", arguments: Fixture.allCases)
    func manyReaders(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 {
                let values = store.values(of: Keys.count)
                group.addTask { await values.first { $0 == 7 } }
            }
            store[Keys.count] = 7
            for await last in group { #expect(last == 7) }
        }
    }

    @Test("Each write resumes every one of many waiting readers")
    func crowd() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let seen = Recorder<Int>()
        let readers = (0..<100).map { _ in
            let values = store.values(of: Keys.count)
            return Task { for await value in values { seen.record(value) } }
        }
        for round in 0..<20 {
            // Each reader has this round's value, and all but the last ones wait for the next.
            _ = try await seen.elements { $0.filter { $0 == round }.count == 100 }
            store[Keys.count] = round + 1
        }
        try await store.close()
        for reader in readers { await reader.value }
    }

    @Test("A stream does not retain its store, and ends when the store is released", arguments: Fixture.allCases)
    func lifetime(fixture: Fixture) async throws {
        var store: ObservableStore? = try fixture.make().open()
        weak let observed = store
        let values = try #require(store).values(of: Keys.count)
        let changes = try #require(store).changes(of: Keys.count)
        let all = try #require(store).allChanges()
        let failures = try #require(store).failures
        store = nil
        for await value in values { #expect(value == 0) }
        for await change in changes { Issue.record("\(change)") }
        for await change in all { Issue.record("\(change)") }
        for await failure in failures { Issue.record("\(failure)") }
        #expect(observed == nil)
    }

    @Test("A stream created after closing ends immediately", arguments: Fixture.allCases)
    func closed(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        store[Keys.count] = 3
        try await store.close()
        var seen: [Int] = []
        for await value in store.values(of: Keys.count) { seen.append(value) }
        #expect(seen == [3])
        for await change in store.changes(of: Keys.count) { Issue.record("\(change)") }
        for await change in store.allChanges() { Issue.record("\(change)") }
        for await failure in store.failures { Issue.record("\(failure)") }
    }

    @Test("Cancelling the task ends each kind of stream", arguments: Fixture.allCases, [true, false])
    func cancellation(fixture: Fixture, isReading: Bool) async throws {
        let store = try fixture.make().open()
        let started = Recorder<Int>()
        let readers = [
            Task { for await _ in store.values(of: Keys.count) { started.record(0) } },
            Task { for await _ in store.changes(of: Keys.count) { started.record(1) } },
            Task { for await _ in store.allChanges() { started.record(2) } },
        ]
        if isReading { _ = try await started.elements(count: 1) }
        for reader in readers {
            reader.cancel()
            await reader.value
        }
    }

    @Test("A stream that is released or left ends its subscription", arguments: Fixture.allCases)
    func noLeak(fixture: Fixture) async throws {
        final class Probe: Sendable {
            let released: Recorder<Bool>
            init(_ released: Recorder<Bool>) { self.released = released }
            deinit { released.record(true) }
        }
        @Sendable func zero(_ probe: Probe) -> Int { 0 }
        let store = try fixture.make().open()
        let released = Recorder<Bool>()
        for round in 0..<100 {
            let probe = Probe(released)
            let key = StorageKey("unset", default: zero(probe))
            let (values, changes) = (store.values(of: key), store.changes(of: key))
            if round % 2 == 0 { for await _ in values { break } }
            _ = changes
        }
        // Each key, and with it its probe, is released only when no subscription holds it any more.
        #expect(try await released.elements(count: 100).count == 100)
    }
}
