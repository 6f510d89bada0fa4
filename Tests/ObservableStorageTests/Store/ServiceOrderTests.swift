import Dispatch
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("The order of edits and of external changes on a service", .timeLimit(.minutes(10)))
struct ServiceOrderTests {
    private func external(_ service: ServiceBackend, _ key: String, _ value: PropertyListValue?) throws {
        _ = try service.memory.edit { $0[key] = value }
    }

    private func elements<Element>(_ count: Int, of stream: AsyncStream<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream {
            elements.append(element)
            if elements.count == count { break }
        }
        return elements
    }

    /// Edits a store while the commit of an earlier edit, whose answer is lost, is being stored, and flushes.
    private func edit(
        _ service: ServiceBackend, _ first: (ObservableStore) -> Void, meanwhile: (ObservableStore) throws -> Void
    ) async throws -> ObservableStore {
        let store = try await ObservableStore.open(service)
        service.loseAnswers(1)
        service.hold(.afterEdit)
        first(store)
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try meanwhile(store)
        service.release(.afterEdit)
        // Throws if it has waited for the commit whose answer was lost.
        try? await store.flush()
        try await store.flush()
        return store
    }

    @Test("An edit that is refused is reverted to what was stored meanwhile, and not to what its commit had found")
    func refused() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.refuse(.unencodable(key: "count", reason: "odd"))
        service.hold(.afterEdit)
        store[Keys.count] = 1
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try external(service, "count", 2)
        await store.settle()
        service.release(.afterEdit)
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(store[Keys.count] == 2)
    }

    @Test("An external change that is reported while closing is told if closing fails")
    func closingFails() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.loseAnswers(1_000)
        service.hold(.afterEdit)
        async let isClosed = store.isolated { store in
            store[Keys.text] = "unknown"
            do throws(StorageError) { try await store.close() } catch { return false }
            return true
        }
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try external(service, "count", 1)
        await store.settle()
        service.release(.afterEdit)
        #expect(await !isClosed)
        #expect(await store.values(of: Keys.count).first { $0 == 1 } == 1)
    }

    @Test("A store that is closed twice at a time is closed after the second succeeds where the first failed")
    func closingTwice() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let results = Recorder<Bool>()
        service.loseAnswers(1)
        service.hold(.afterEdit)
        await store.isolated { store in
            store[Keys.text] = "unknown"
            for _ in 0..<2 {
                store.synchronizer.start { _ in
                    do throws(StorageError) {
                        try await store.close()
                        results.record(true)
                    } catch {
                        results.record(false)
                    }
                }
            }
        }
        service.release(.afterEdit)
        #expect(try await results.elements { $0.count == 2 } == [false, true])
        #expect(throws: StorageError.closed) { try store.set(1, for: Keys.count) }
    }

    @Test("At the end of the process, the last write follows the commit that is under way")
    func lastWriteFollows() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.hold(.beforeEdit)
        store[Keys.count] = 1
        _ = try await service.arrivals.elements { $0.contains(.beforeEdit) }
        store[Keys.count] = 2
        let group = DispatchGroup()
        store.synchronizer.lastWrite.startBeforeExit(in: group)
        for _ in 0..<20 { await Task.yield() }
        service.release(.beforeEdit)
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        try await store.flush()
        #expect(service.mostRunning == 1 && service.memory.load()["count"] == 2)
    }

    @Test("The last write of a released store depends on nothing that its edits have not read")
    func lastWriteReads() async throws {
        let service = ServiceBackend(["other": 1])
        var store: ObservableStore? = try await ObservableStore.open(service)
        let failures = store?.failures
        await store?.suspend()
        store?[Keys.count] = 1
        store?[StorageKey("server", "port", default: 80)] = 8080
        store = nil
        for await failure in try #require(failures) { Issue.record(failure) }
        #expect(service.memory.load().values == ["other": 1, "count": 1, "server": ["port": 8080]])
        #expect(service.readKeys == [["server"]])
    }

    @Test("Edits that are set while a transaction waits take no room of its commit")
    func room() async throws {
        let service = ServiceBackend(limits: StorageLimits(operations: 3))
        let store = try await ObservableStore.open(service)
        service.hold(.afterEdit)
        async let first: Void = store.update { $0[Keys.count] = 1 }
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        let update = Task {
            try await store.update { transaction in
                for name in ["x", "y"] { transaction[StorageKey(name, default: 0)] = transaction[StorageKey("a", default: 0)] }
            }
        }
        while !store.synchronizer.storage.isAwaited { await Task.yield() }
        store[StorageKey("a", default: 0)] = 7
        for name in ["b", "c"] { store[StorageKey(name, default: 0)] = 1 }
        service.release(.afterEdit)
        try await first
        try await update.value
        #expect(service.batches.allSatisfy { $0.count <= 3 } && store.entries["x"] == 7)
    }

    @Test("A value that no commit has room for is refused, also inside a dictionary")
    func tooLarge() async throws {
        let store = try await ObservableStore.open(ServiceBackend(limits: StorageLimits(commitSize: 400)))
        let long = String(repeating: "x", count: 500)
        #expect(throws: StorageError.self) { try store.set(long, for: Keys.text) }
        let nested = try await ObservableStore.open(ServiceBackend(limits: StorageLimits(valueSize: 250)))
        let half = String(repeating: "x", count: 150)
        try nested.set(half, for: StorageKey("server", "name", default: ""))
        #expect(throws: StorageError.self) {
            try nested.set(String(repeating: "y", count: 150), for: StorageKey("server", "path", default: ""))
        }
        #expect(nested.entries == ["server": ["name": .string(half)]])
        try await nested.flush()
    }

    @Test("A value of exactly the size that a storage takes is stored")
    func exactSize() async throws {
        let value = PropertyListValue.string(String(repeating: "x", count: 200))
        let size = try value.encoded(as: .binary).count
        let key = StorageKey<PropertyListValue?>("name")
        let store = try await ObservableStore.open(ServiceBackend(limits: StorageLimits(valueSize: size)))
        try store.set(value, for: key)
        let smaller = try await ObservableStore.open(ServiceBackend(limits: StorageLimits(valueSize: size - 1)))
        #expect(throws: StorageError.self) { try smaller.set(value, for: key) }
    }

    @Test("A new name and the removal of its earlier one stay in one commit, also after later edits")
    func renamedStep() async throws {
        let service = ServiceBackend(["old": 5], limits: StorageLimits(operations: 3))
        let store = try await ObservableStore.open(service)
        let renamed = StorageKey("new", default: 0).renamed(from: "old")
        try await store.isolated { store in
            store[StorageKey("z", default: 0)] = 1
            store[renamed] = 6
            store.edit { edits in
                edits[StorageKey("a", default: 0)] = 1
                edits[renamed] = 7
            }
            try await store.flush()
        }
        #expect(service.batches == [["z"], ["a", "new", "old"]])
    }

    @Test("Steps that share an entry, and fit into no commit together, are stored one by one")
    func mergedSteps() async throws {
        let service = ServiceBackend(["old": 5], limits: StorageLimits(operations: 4))
        let store = try await ObservableStore.open(service)
        let renamed = StorageKey("new", default: 0).renamed(from: "old")
        try await store.isolated { store in
            store[renamed] = 6
            store.edit { edits in
                edits[renamed] = 7
                for name in ["x", "y", "z"] { edits[StorageKey(name, default: 0)] = 1 }
            }
            try await store.flush()
        }
        // Otherwise there would be neither name in between.
        #expect(service.batches == [["new", "x", "y", "z"], ["old"]])
    }

    @Test("A change by another writer that follows an edit of the same key is told as external, before the edit's answer too")
    func origin() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let changes = store.changes(of: Keys.count)
        service.hold(.afterEdit)
        store[Keys.count] = 1
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try external(service, "count", 2)
        await store.settle()
        service.release(.afterEdit)
        let told = await elements(2, of: changes)
        #expect(told.map(\.newValue) == [1, 2] && told.map(\.origin) == [.local, .external])
    }

    @Test("An edit that stores nothing, as the entry has the value already, depends on that entry")
    func sameValue() async throws {
        let service = ServiceBackend(["count": 1])
        let store = try await ObservableStore.open(service)
        try await store.update { transaction in
            transaction[Keys.count] = 1
            transaction[Keys.text] = "set"
        }
        try await store.update { transaction in
            transaction[Keys.count] = 3
            transaction[Keys.count] = 1
            transaction[StorageKey("delay", default: 0).renamed(from: "period")] = 1
        }
        try await store.isolated { store in
            store[Keys.count] = 2
            store[Keys.count] = 1
            store[Keys.text] = "again"
            try await store.flush()
        }
        #expect(service.readKeys == [["count"], ["count", "period"], ["count"]])
    }

    @Test("An edit inside a dictionary does not repeat an earlier one that was stored while it was made")
    func nestedRepeated() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let (port, delay) = (StorageKey("server", "port", default: 80), StorageKey("server", "delay", default: 0))
        service.hold(.afterEdit)
        store[port] = 1
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        store[delay] = 5
        try external(service, "server", ["port": 9])
        await store.settle()
        service.release(.afterEdit)
        try await store.flush()
        #expect(store[port] == 9 && store[delay] == 5)
        #expect(service.memory.load()["server"] == ["port": 9, "delay": 5])
    }

    @Test("A value that has returned to an earlier one before a commit is stored is told, if the commit had found the earlier one")
    func returnedValue() async throws {
        let service = ServiceBackend(["count": 0], compares: true)
        let store = try await ObservableStore.open(service)
        service.hold(.beforeComparison)
        async let update: Void = store.update { $0[Keys.text] = "set" }
        _ = try await service.arrivals.elements { $0.contains(.beforeComparison) }
        try external(service, "count", 5)
        await store.settle()
        #expect(store[Keys.count] == 5)
        service.withholdEvents()
        try external(service, "count", 0)
        service.release(.beforeComparison)
        try await update
        #expect(store[Keys.count] == 0 && store.storageRevision == service.memory.load().revision)
    }

    @Test("Edits whose attempts have failed are written at once when the storage can be reached again")
    func reachableAgain() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        await store.withSchedule { schedule in for _ in 0..<20 { _ = schedule.writes.fail() } }
        service.refuse(.unwritable(file: "service", reason: "away"))
        store[Keys.count] = 1
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        await store.settle()
        service.report(.reachable(true))
        // Otherwise the next attempt is made after half a minute.
        let start = ContinuousClock.now
        _ = try await service.arrivals.elements { $0.filter { $0 == .afterEdit }.count == 2 }
        #expect(service.memory.load()["count"] == 1 && .now - start < .seconds(20))
    }

    @Test("A removal that follows the move of an earlier name is stored, although that move is given up while it is stored")
    func removalDuringMove() async throws {
        let key = StorageKey("delay", default: 0).renamed(from: "period")
        let service = ServiceBackend(["period": 5])
        let store = try await ObservableStore.open(service)
        service.hold(.beforeEdit)
        try store.migrateValue(of: key)
        _ = try await service.arrivals.elements { $0.contains(.beforeEdit) }
        store.remove(key)
        _ = try service.memory.edit { $0["period"] = 9 }
        service.release(.beforeEdit)
        try await store.flush()
        #expect(service.memory.load().values.isEmpty)
        #expect(store[key] == 0)
    }

    @Test("Values inside a dictionary that are edited after a commit of unknown outcome are stored after it, the same one again too")
    func editedAgain() async throws {
        let (a, b) = (StorageKey("d", "a", default: 0), StorageKey("d", "b", default: 0))
        let service = ServiceBackend()
        let store = try await edit(service) {
            $0[a] = 1
        } meanwhile: {
            $0[b] = 2
            $0[a] = 3
        }
        #expect(service.memory.load().values == ["d": ["a": 3, "b": 2]])
        #expect(store[a] == 3 && store[b] == 2)
    }

    @Test("What a commit of unknown outcome has stored inside a dictionary is not stored again over later values of others")
    func storedOnce() async throws {
        let (a, b) = (StorageKey("d", "a", default: 0), StorageKey("d", "b", default: 0))
        let service = ServiceBackend()
        _ = try await edit(service) {
            $0.edit { ($0[a], $0[b]) = (1, 2) }
        } meanwhile: {
            try external(service, "d", ["a": 1, "b": 9])
            $0[a] = 5
        }
        #expect(service.memory.load().values == ["d": ["a": 5, "b": 9]])
    }

    @Test("Differences that begin in another history are a gap")
    func otherHistory() {
        let (three, five) = (StorageRevision(history: "a", number: 3), StorageRevision(history: "a", number: 5))
        #expect(StorageChanges([:], since: three, revision: five).apply(to: three))
        #expect(!StorageChanges([:], since: StorageRevision(history: "b", number: 1), revision: five).apply(to: three))
    }
}
