import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

private struct Refusal: Error {}

@Suite("Transactions", .timeLimit(.minutes(10)))
struct TransactionTests {
    @Test("A transaction is one batch with one revision, and is stored when it returns", arguments: Fixture.allCases)
    func oneRevision(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let changes = store.allChanges()
        let result = try await store.update { transaction in
            transaction[Keys.count] += 1
            transaction[Keys.text] = "one"
            return transaction[Keys.count]
        }
        #expect(result == 1)
        #expect(try storage.open().entries == ["count": .integer(1), "text": .string("one")])
        try await store.close()
        var seen: [Change<PropertyListValue?>] = []
        for await change in changes { seen.append(change) }
        #expect(seen.map(\.key) == ["count", "text"])
        #expect(seen.map(\.revision) == [1, 1])
        #expect(seen.allSatisfy { $0.origin == .local })
    }

    @Test("Throwing inside has no effect, and earlier edits are still written", arguments: Fixture.allCases)
    func throwing(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        store[Keys.text] = "kept"
        await #expect(throws: Refusal.self) {
            try await store.update { transaction in
                transaction[Keys.count] = 1
                transaction.remove(Keys.text)
                throw Refusal()
            }
        }
        #expect(store.entries == ["text": .string("kept")])
        try await store.flush()
        #expect(try storage.open().entries == ["text": .string("kept")])
    }

    // Not on the thread pool, whose threads must not be blocked.
    private actor Caller {
        private let executor = DispatchQueueExecutor(label: "caller")
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func update(_ store: ObservableStore, _ body: @escaping @Sendable () -> Void) async throws {
            try await store.update {
                $0[Keys.count] += 1
                body()
            }
        }

        func block(_ body: @Sendable () -> Bool) -> Bool { body() }
    }

    @Test("Listeners hear of a transaction while the actor that has called it is busy", arguments: Fixture.allCases)
    func busyCaller(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let caller = Caller()
        let (isBlocked, isTold) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let token = store.addUpdateListener(for: Keys.count) { _ in isTold.signal() }
        let (begun, continuation) = AsyncStream.makeStream(of: Never.self)
        async let update: Void = caller.update(store) {
            continuation.finish()
            isBlocked.wait()
        }
        for await _ in begun {}
        let isHeard = await caller.block {
            isBlocked.signal()
            return isTold.wait(timeout: .now() + 60) == .success
        }
        #expect(isHeard)
        try await update
        withExtendedLifetime(token) {}
    }

    @Test("When a transaction returns, its change has been delivered, also if another task delivers it")
    func delivered() async throws {
        let store = try Fixture.memory.make().open()
        let told = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { told.record($0.newValue) }
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        let start = ContinuousClock.now
                        let count = try await store.update { transaction in
                            transaction[Keys.count] += 1
                            return transaction[Keys.count]
                        }
                        let isTold = told.elements.last ?? 0 >= count
                        // For a listener that is slow, or gets no processor, a transaction waits only that long.
                        #expect(isTold || start.duration(to: .now) >= .milliseconds(100), "\(count)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(told.elements == Array(1...2_000))
        token.cancel()
    }

    @Test("Calling update from inside is an error, not a deadlock", arguments: Fixture.allCases)
    func nested(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let inner = Lock<Task<Void, any Error>?>(nil)
        try await store.update { transaction in
            transaction[Keys.count] = 1
            let ended = DispatchSemaphore(value: 0)
            let task = Task {
                defer { ended.signal() }
                try await store.update { $0[Keys.count] = 2 }
            }
            inner.withLock { $0 = task }
            ended.wait()
        }
        let task = try #require(inner.withLock { $0 })
        await #expect(throws: StorageError.nestedUpdate) { try await task.value }
        #expect(store[Keys.count] == 1)
    }

    @Test("Nested transactions of another store do not hide that calling update of the first one is an error")
    func nestedAcrossStores() async throws {
        let (outer, inner) = (try ObservableStore(backend: InMemoryBackend()), try ObservableStore(backend: InMemoryBackend()))
        let task = try await outer.update { _ in
            let ended = DispatchSemaphore(value: 0)
            let task = Task {
                defer { ended.signal() }
                // Checked instead of called: if it were not an error, the call would wait for itself.
                try await inner.update { _ in
                    #expect(TransactionContext.isOpen(of: outer))
                    #expect(TransactionContext.isOpen(of: inner))
                }
                #expect(TransactionContext.isOpen(of: outer))
                #expect(!TransactionContext.isOpen(of: inner))
            }
            ended.wait()
            return task
        }
        try await task.value
        #expect(!TransactionContext.isOpen(of: outer))
    }

    @Test("A task started inside can call update after the transaction has finished", arguments: Fixture.allCases)
    func deferred(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let gate = AsyncStream.makeStream(of: Void.self)
        let later = try await store.update { transaction in
            transaction[Keys.count] = 1
            return Task {
                for await _ in gate.stream { break }
                try await store.update { $0[Keys.count] += 1 }
            }
        }
        gate.continuation.yield()
        try await later.value
        #expect(store[Keys.count] == 2)
    }

    @Test("Concurrent increments of several stores with one backend are all counted", arguments: Fixture.allCases)
    func atomicity(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let stores = try (0..<4).map { _ in try storage.open() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask { for _ in 0..<25 { try await store.update { $0[Keys.count] += 1 } } }
            }
            try await group.waitForAll()
        }
        #expect(try storage.open()[Keys.count] == 100)
    }

    @Test("A transaction reads the store's own unwritten edits and writes them too", arguments: Fixture.allCases)
    func ownEdits(fixture: Fixture) async throws {
        let storage = try fixture.make(["text": .string("old")])
        let store = try storage.open()
        store[Keys.count] = 41
        store.remove(Keys.text)
        try await store.update { transaction in
            #expect(!transaction.isSet(Keys.text))
            transaction[Keys.count] += 1
        }
        #expect(try storage.entries == ["count": .integer(42)])
    }

    // With a lock, no other writer can be faster.
    @Test(
        "External changes found by a transaction are delivered first, and then its own changes",
        arguments: [Fixture.memory, .userDefaults])
    func externalChanges(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let changes = store.changes(of: Keys.count)
        // The other store is slightly faster: it stores its change after the transaction has begun.
        backend.pause {
            backend.pause(nil)
            _ = try? storage.edit { $0["count"] = .integer(10) }
        }
        try await store.update { $0[Keys.count] += 1 }
        try await store.close()
        var seen: [Change<Int>] = []
        for await change in changes { seen.append(change) }
        #expect(seen.map(\.newValue) == [10, 11])
        #expect(seen.map(\.origin) == [.external, .local])
        #expect(seen.map(\.revision) == [1, 2])
    }

    @Test("A value that cannot be encoded fails the whole transaction", arguments: Fixture.allCases)
    func encodeFailure(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let deep = (0..<600).reduce(PropertyListValue.integer(1)) { value, _ in .array([value]) }
        await #expect(throws: StorageError.self) {
            try await store.update { transaction in
                transaction[Keys.count] = 1
                transaction[StorageKey<PropertyListValue?>("deep")] = deep
            }
        }
        #expect(store.entries.isEmpty)
    }

    @Test("A set during the writing of a transaction is newer, in memory and on disk", arguments: Fixture.allCases)
    func setDuringTransaction(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let seen = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0.newValue) }
        backend.pause {
            backend.pause(nil)
            store[Keys.count] = 5
        }
        try await store.update { $0[Keys.count] = 1 }
        #expect(store[Keys.count] == 5)
        try await store.flush()
        #expect(try storage.entries == ["count": .integer(5)])
        // Set on the store's queue, it is delivered on another thread.
        _ = try await seen.elements { $0.last == 5 }
        withExtendedLifetime(token) {}
    }

    @Test("A closure that sets in the store what it reads ends with an error, and not if other threads do, however often")
    func ownChanges() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let refusal = StorageError.nestedEdit(key: "count")
        store.edit { transaction in
            transaction[Keys.count] += 10
            store[Keys.count] += 1
        }
        #expect(await store.failures.first { _ in true } == refusal)
        #expect(throws: refusal) {
            try store.stored(Keys.count).modify { count in
                count += 10
                store.edit { $0[Keys.count] += 1 }
            }
        }
        let port = StorageKey("server", "port", default: 0)
        #expect(throws: StorageError.nestedEdit(key: ".server.port")) { try store.stored(port).modify { _ in store[port] += 1 } }
        let others = DispatchQueue(label: "others")
        var runs = 0
        func makeEdit(_ value: inout Int, of key: StorageKey<Int>) {
            runs += 1
            value += 1
            // None of these is what the closure reads.
            store[Keys.text] = "\(runs)"
            store[StorageKey("server", "host", default: "")] = "\(runs)"
            if runs.isMultiple(of: 50) { return }
            let (number, isSet) = (runs * 1_000, DispatchSemaphore(value: 0))
            others.async {
                store[key] = number
                isSet.signal()
            }
            isSet.wait()
        }
        store.edit { makeEdit(&$0[Keys.count], of: Keys.count) }
        #expect(runs == 50 && store[Keys.count] == 49_001)
        try store.stored(Keys.count).modify { makeEdit(&$0, of: Keys.count) }
        #expect(runs == 100 && store[Keys.count] == 99_001)
        try store.stored(port).modify { makeEdit(&$0, of: port) }
        #expect(runs == 150 && store[port] == 149_001)
        #expect(throws: Refusal.self) {
            try store.edit { transaction in
                store[Keys.count] += 1
                runs += 1
                if transaction.isSet(Keys.count), runs == 167 { throw Refusal() }
            }
        }
        #expect(!store.cache.update { $0.postsAllChanges || !$0.ownChanges.isEmpty })
    }

    @Test("A closure that sets what it reads ends, also if another edit inside it does so, and under an earlier name")
    func ownChangesInside() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["old": 1]))
        var runs = 0
        store.edit { outer in
            runs += 1
            outer[Keys.count] += 1
            store[Keys.count] += 1
            store.edit { inner in
                inner[Keys.text] += "a"
                store[Keys.text] += "b"
            }
        }
        #expect(runs == 17)
        let key = StorageKey("server", "port", default: 0).renamed(from: "old")
        #expect(throws: StorageError.nestedEdit(key: ".server.port")) {
            try store.stored(key).modify { value in
                store[StorageKey("old", default: 0)] += 1
                value += 1
            }
        }
        #expect(!store.cache.update { $0.postsAllChanges || !$0.ownChanges.isEmpty })
    }

    @Test("A closure that sets a key without reading it runs once, whatever others set meanwhile")
    func setWithoutReading() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1]))
        var runs = 0
        store.edit { transaction in
            runs += 1
            store[Keys.count] = 2
            transaction[Keys.count] = 3
            store[Keys.count] = 4
        }
        #expect(runs == 1 && store[Keys.count] == 3)
    }

    @Test("A transaction that only reads stores nothing")
    func readOnly() async throws {
        let folder = try TemporaryFolder()
        let store = try ObservableStore(at: folder.file("a.plist"))
        #expect(try await store.update { $0[Keys.count] } == 0)
        #expect(store.revision == 0)
        #expect(!FileManager.default.fileExists(atPath: folder.path("a.plist")))
    }
}
