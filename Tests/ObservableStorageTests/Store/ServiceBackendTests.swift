import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Stores on a service", .timeLimit(.minutes(10)))
struct ServiceBackendTests {
    private typealias Count = Change<Int>

    private func elements<Element>(_ count: Int, of stream: AsyncStream<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream {
            elements.append(element)
            if elements.count == count { break }
        }
        return elements
    }

    private func external(_ service: ServiceBackend, _ key: String, _ value: PropertyListValue) throws {
        _ = try service.memory.edit { $0[key] = value }
    }

    @Test("A store opens on a storage that suspends, reads, writes, observes and closes")
    func life() async throws {
        let service = ServiceBackend(["count": 1])
        let store = try await ObservableStore.open(service)
        #expect(store[Keys.count] == 1 && store.storageRevision == service.memory.load().revision)
        store[Keys.text] = "set"
        try await store.flush()
        #expect(service.memory.load().values == ["count": 1, "text": "set"])
        #expect(
            try await store.update { transaction in
                transaction[Keys.count] += 1
                return transaction[Keys.count]
            } == 2)
        let changes = store.changes(of: Keys.count)
        try external(service, "count", 5)
        let change = await changes.first { _ in true }
        #expect(change?.newValue == 5 && change?.origin == .external)
        #expect(change?.storageRevision == service.memory.load().revision && change?.storageRevision == store.storageRevision)
        try await store.close()
    }

    @Test("A storage that cannot be read is not opened")
    func unreadable() async {
        struct Broken: StorageBackend {
            let name = "broken"
            func load() async throws -> StorageEntries { throw CocoaError(.fileReadUnknown) }
            func edit(_ body: @Sendable (inout StorageEntries) throws -> Void) async throws -> StorageEntries { StorageEntries() }
            func watch(
                since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
            ) -> ObservationToken { ObservationToken {} }
        }
        let error = await #expect(throws: StorageError.self) { try await ObservableStore.open(Broken()) }
        guard case .unreadable(file: "broken", _, nil) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("Blocking storages are opened the same way, with layers")
    func blocking() async throws {
        let (defaults, mandatory) = (InMemoryBackend(["text": "default"]), InMemoryBackend(["note": "fixed"]))
        let store = try await ObservableStore.open(InMemoryBackend(["count": 3]), defaults: [defaults], mandatory: [mandatory])
        #expect(store[Keys.count] == 3 && store[Keys.text] == "default" && store[Keys.note] == "fixed")
    }

    @Test("External changes are told while a commit waits for the storage, and reading and setting go on")
    func duringCommit() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let changes = store.changes(of: Keys.count)
        service.hold(.afterEdit)
        store[Keys.text] = "waits"
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try external(service, "count", 1)
        #expect(await changes.first { _ in true }?.newValue == 1)
        store[Keys.note] = "set meanwhile"
        #expect(store[Keys.note] == "set meanwhile")
        service.release(.afterEdit)
        try await store.flush()
        #expect(service.memory.load().values == ["count": 1, "text": "waits", "note": "set meanwhile"])
    }

    @Test("Commits and reads of the storage run one at a time, in order")
    func turns() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.hold(.afterEdit)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await store.update { $0[Keys.count] += 1 } } }
            _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
            for _ in 0..<5 { service.report(.changed) }
            service.release(.afterEdit)
            try await group.waitForAll()
        }
        #expect(store[Keys.count] == 20 && service.memory.load()["count"] == 20)
        #expect(service.mostRunning == 1)
    }

    @Test("The event of a store's own transaction that arrives before the answer is told once, as local")
    func ownEvent() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let changes = store.allChanges()
        service.hold(.afterEdit)
        async let update: Void = store.update { transaction in
            transaction[Keys.count] = 1
            transaction[Keys.text] = "one"
        }
        let told = await elements(2, of: changes)
        service.release(.afterEdit)
        try await update
        #expect(told.map(\.key) == ["count", "text"] && told.map(\.origin) == [.local, .local])
        let revision = store.revision
        try external(service, "count", 2)
        let last = await store.values(of: Keys.count).first { $0 == 2 }
        #expect(last == 2 && store.revision == revision + 1)
    }

    @Test("What is in memory never moves back to an older revision: neither by a late answer, nor by a late read, nor by a late event")
    func neverBack() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let before = try #require(service.memory.load().revision)
        let values = store.changes(of: Keys.count)
        // The answer to the store's own edit arrives after the event of a later one.
        service.hold(.afterEdit)
        async let update: Void = store.update { $0[Keys.count] = 1 }
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        try external(service, "count", 2)
        #expect(await elements(2, of: values).map(\.newValue) == [1, 2])
        service.release(.afterEdit)
        try await update
        #expect(store[Keys.count] == 2)
        // A read that began before an edit ends after its event.
        let reads = service.loads
        service.hold(.beforeLoad)
        service.report(.changed)
        _ = try await service.arrivals.elements { $0.count { $0 == .beforeLoad } > reads }
        let later = store.changes(of: Keys.count)
        try external(service, "count", 3)
        #expect(await later.first { _ in true }?.newValue == 3)
        service.release(.beforeLoad)
        let one = StorageRevision(history: before.history, number: before.number + 1)
        service.report(.differences(StorageChanges(["count": 1], since: before, revision: one)))
        // After that read.
        try await store.reload()
        try external(service, "count", 4)
        #expect(await later.first { _ in true }?.newValue == 4)
        #expect(store[Keys.count] == 4 && store.storageRevision == service.memory.load().revision)
    }

    @Test("Differences that continue are applied without reading; a gap, and another history, are read")
    func gaps() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.withholdEvents()
        let loads = service.loads
        let first = try #require(service.memory.load().revision)
        func revision(_ number: UInt64) -> StorageRevision { StorageRevision(history: first.history, number: first.number + number) }
        let values = store.values(of: Keys.count)
        var iterator = values.makeAsyncIterator()
        _ = await iterator.next()
        for number in 1...4 { try external(service, "count", .integer(PropertyListInteger(Int64(number)))) }
        service.report(.differences(StorageChanges(["count": 1], since: first, revision: revision(1))))
        #expect(await iterator.next() == 1)
        // Overlapping differences end later.
        service.report(.differences(StorageChanges(["count": 2], since: first, revision: revision(2))))
        #expect(await iterator.next() == 2)
        #expect(service.loads == loads)
        service.report(.differences(StorageChanges(["count": 4], since: revision(3), revision: revision(4))))
        #expect(await iterator.next() == 4)
        #expect(service.loads == loads + 1)
        let other = StorageRevision(history: "other", number: 1)
        service.report(.differences(StorageChanges(["count": 9], since: other, revision: other)))
        try external(service, "count", 5)
        #expect(service.loads >= loads + 1)
        service.report(.changed)
        #expect(await iterator.next() == 5)
    }

    @Test("Whether the storage can be reached is told as availability")
    func reachable() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let availability = store.availabilityUpdates
        service.report(.reachable(false))
        let reason = StorageError.unreadable(file: "service", reason: "it cannot be reached at present")
        #expect(await availability.first { $0 != .available } == .unavailable(reason))
        service.report(.reachable(true))
        #expect(await availability.first { $0 == .available } == .available)
    }

    @Test("Edits whose outcome is unknown are repeated; a transaction's is told, and says that it may have been stored")
    func outcomeUnknown() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.loseAnswers(1)
        let failure = await store.isolated { store in
            store[Keys.count] = 7
            return await store.flushFailure()
        }
        #expect(failure == ServiceBackend.lost.with(.kept))
        try await store.flush()
        #expect(service.memory.load().values == ["count": 7])
        service.loseAnswers(1)
        let error = await #expect(throws: StorageError.self) { try await store.update { $0[Keys.count] += 1 } }
        #expect(error == ServiceBackend.lost)
        // What was stored nevertheless is found.
        #expect(await store.values(of: Keys.count).first { $0 == 8 } == 8)
    }

    @Test("Edits whose outcome is unknown, and that were not stored, are stored by the next attempt")
    func notStored() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        service.refuse(ServiceBackend.lost)
        let failure = await store.isolated { store in
            store[Keys.count] = 1
            return await store.flushFailure()
        }
        #expect(failure == ServiceBackend.lost.with(.kept))
        try await store.flush()
        #expect(service.memory.load().values == ["count": 1])
    }

    @Test("If one edit of a closure is refused, all edits of that closure are reverted, and no others")
    func refusedTogether() async throws {
        let service = ServiceBackend(["count": 0])
        let store = try await ObservableStore.open(service)
        let refusal = StorageError.unencodable(key: "text", reason: "it is refused")
        service.refuse(refusal)
        store.edit { transaction in
            transaction[Keys.count] = 1
            transaction[Keys.text] = "refused"
        }
        store[StorageKey("other", default: 0)] = 2
        await #expect(throws: refusal) { try await store.flush() }
        #expect(store.entries == ["count": 0, "other": 2])
        #expect(service.memory.load().values == ["count": 0, "other": 2])
    }

    @Test("The entries with edits that wait for the storage are named until they are stored")
    func unwrittenKeys() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        #expect(store.unwrittenKeys.isEmpty)
        service.hold(.beforeEdit)
        store[Keys.count] = 7
        store[Keys.text] = "own"
        #expect(store.unwrittenKeys == ["count", "text"])
        service.release(.beforeEdit)
        try await store.flush()
        #expect(store.unwrittenKeys.isEmpty)
    }

    /// Stores an edit whose answer is lost, and runs a closure before the store hears of that; the store repeats it afterwards.
    private func losingAnswer(
        of edit: (ObservableStore) -> Void, in store: ObservableStore, on service: ServiceBackend, _ body: () throws -> Void
    ) async throws {
        service.loseAnswers(1)
        service.hold(.afterEdit)
        edit(store)
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        service.hold(.beforeEdit)
        try body()
        service.release(.afterEdit)
    }

    @Test("Edits that were stored, though their outcome was unknown, are not stored again over later ones of others")
    func unknownOutcomeIsSettled() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let changes = store.changes(of: Keys.count)
        try await losingAnswer(of: { $0[Keys.count] = 7 }, in: store, on: service) {
            _ = try service.memory.edit { $0["count"] = 9 }
            store[Keys.text] = "later"
        }
        service.release(.beforeEdit)
        while !store.unwrittenKeys.isEmpty { _ = await store.flushFailure() }
        #expect(service.memory.load().values == ["count": 9, "text": "later"])
        #expect(store[Keys.count] == 9)
        var seen: [Int] = []
        for await change in changes {
            seen.append(change.newValue)
            #expect(change.origin == (change.newValue == 7 ? .local : .external))
            if change.newValue == 9 { break }
        }
        #expect(seen == [7, 9])
        store[Keys.count] = 7
        try await store.flush()
        #expect(service.memory.load()["count"] == 7)
    }

    @Test("Of edits inside a dictionary, those that were stored though their outcome was unknown are not stored again")
    func unknownPathIsSettled() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let (port, host) = (StorageKey("server", "port", default: 80), StorageKey("server", "host", default: ""))
        try await losingAnswer(of: { $0[port] = 1 }, in: store, on: service) {
            store[host] = "own"
            _ = try service.memory.edit { $0["server"] = ["port": 2] }
        }
        service.release(.beforeEdit)
        while !store.unwrittenKeys.isEmpty { _ = await store.flushFailure() }
        #expect(service.memory.load().values == ["server": ["port": 2, "host": "own"]])
        #expect(store[port] == 2)
    }

    @Test("The last write of a store does not repeat what was stored though its outcome was unknown")
    func unknownOutcomeAtTheEnd() async throws {
        let service = ServiceBackend()
        var store: ObservableStore? = try await ObservableStore.open(service)
        if let store {
            try await losingAnswer(of: { $0[Keys.count] = 7 }, in: store, on: service) {
                _ = try service.memory.edit { $0["count"] = 9 }
                store[Keys.text] = "later"
            }
        }
        store = nil
        service.release(.beforeEdit)
        while service.memory.load()["text"] == nil { await Task.yield() }
        #expect(service.memory.load().values == ["count": 9, "text": "later"])
    }

    @Test("A transaction names what it has read, all if it read all entries; edits that were set have read nothing")
    func readKeys() async throws {
        let service = ServiceBackend(["count": 1])
        let store = try await ObservableStore.open(service)
        try await store.update { $0[Keys.count] += 1 }
        try await store.update { $0[Keys.text] = "\($0.entries.count)" }
        store[Keys.note] = "blind"
        try await store.flush()
        try await store.update { $0.remove(Keys.note) }
        // That there is nothing to remove may be no longer so.
        try await store.update { $0.remove(StorageKey("url", default: "")) }
        store[StorageKey("server", "port", default: 80)] = 8080
        try await store.flush()
        #expect(service.readKeys.map { $0.map { $0.sorted() } } == [["count"], nil, [], [], ["url"], ["server"]])
    }

    @Test("Waiting edits are divided into commits within the limits, and edits of one step stay together")
    func batches() async throws {
        let service = ServiceBackend(limits: StorageLimits(operations: 3))
        let store = try await ObservableStore.open(service)
        try await store.isolated { store in
            for name in ["a", "b"] { store[StorageKey(name, default: 0)] = 1 }
            store.edit { edits in
                for name in ["c", "d"] { edits[StorageKey(name, default: 0)] = 2 }
            }
            store[StorageKey("e", default: 0)] = 3
            try await store.flush()
        }
        #expect(service.batches == [["a", "b"], ["c", "d", "e"]])
    }

    @Test(
        "All entries, and those of scenes, are removed in as many commits as the limits require",
        arguments: [true, false], [StorageLimits(operations: 2), StorageLimits(commitSize: 30)])
    func removals(areScenes: Bool, limits: StorageLimits) async throws {
        let names = ["a", "b", "c", "d", "e"].map { "scenes/one/\($0)" }
        let service = ServiceBackend(Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }), limits: limits)
        let store = try await ObservableStore.open(service)
        let changes = store.allChanges()
        if areScenes { store.discard(sceneID: "one") } else { store.reset() }
        #expect(store.entries.isEmpty)
        try await store.flush()
        #expect(service.memory.load().values.isEmpty)
        #expect(service.batches.map(\.count) == [2, 2, 1])
        try await store.close()
        #expect(await changes.reduce(into: []) { $0.append($1.key) }.sorted() == names)
    }

    @Test(
        "The keys of a group are reset in as many commits as the limits require",
        arguments: [StorageLimits(operations: 2), StorageLimits(commitSize: 8)])
    func resetOfGroup(limits: StorageLimits) async throws {
        struct Group: KeyGroup {
            let a = StorageKey("a", default: 0)
            let b = StorageKey("b", default: 0).renamed(from: "earlier")
            let c = StorageKey("c", default: 0)
            let d = StorageKey("d", default: 0)
            let e = StorageKey("e", default: 0)
        }
        let service = ServiceBackend(["a": 1, "earlier": 2, "d": 3, "e": 4, "other": 5], limits: limits)
        let store = try await ObservableStore.open(service)
        KeyedStore<Group>(store).reset()
        #expect(store.entries == ["other": 5])
        try await store.flush()
        #expect(service.memory.load().values == ["other": 5])
        #expect(service.batches.map(\.count).max() == 2)
        try await store.close()
    }

    @Test("A group of values in few entries is reset in one step, however many they are")
    func resetInside() async throws {
        struct Group: KeyGroup {
            let a = StorageKey("d", "a", default: 0)
            let b = StorageKey("d", "b", default: 0)
            let c = StorageKey("d", "c", default: 0)
        }
        let service = ServiceBackend(["d": ["a": 1, "b": 2, "c": 3, "other": 4]], limits: StorageLimits(operations: 2))
        let store = try await ObservableStore.open(service)
        let revision = store.snapshot.revision
        KeyedStore<Group>(store).reset()
        #expect(store.entries == ["d": ["other": 4]])
        #expect(store.snapshot.revision == revision + 1)
        try await store.close()
    }

    @Test("A value, a step and a transaction that are too large are refused, and nothing changes")
    func tooLarge() async throws {
        let service = ServiceBackend(limits: StorageLimits(operations: 2, valueSize: 250, commitSize: 400))
        let store = try await ObservableStore.open(service)
        let long = String(repeating: "x", count: 300)
        func isTooLarge(_ error: StorageError?, _ key: String?) -> Bool {
            if case .tooLarge(key, _) = error { return true }
            return false
        }
        #expect(isTooLarge(#expect(throws: StorageError.self) { try store.set(long, for: Keys.text) }, "text"))
        let failures = store.failures
        store.edit { edits in
            for name in ["a", "b", "c"] { edits[StorageKey(name, default: 0)] = 1 }
        }
        #expect(isTooLarge(await failures.first { _ in true }, nil))
        let refused = await #expect(throws: StorageError.self) {
            try await store.update { transaction in
                for name in ["a", "b", "c"] { transaction[StorageKey(name, default: 0)] = 1 }
            }
        }
        #expect(isTooLarge(refused, nil))
        let half = String(repeating: "y", count: 195)
        let together = await #expect(throws: StorageError.self) {
            try await store.update { transaction in
                for name in ["a", "b"] { transaction[StorageKey(name, default: "")] = half }
            }
        }
        #expect(isTooLarge(together, nil))
        #expect(store.entries.isEmpty && service.memory.load().values.isEmpty)
    }

    @Test("A task that is cancelled can flush and close, and begins no transaction")
    func cancelledTask() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let failure = await store.isolated { store in
                store[Keys.count] = 1
                return await store.flushFailure()
            }
            #expect(failure == nil && store.availability == .available && service.memory.load()["count"] == 1)
            await #expect(throws: CancellationError.self) { try await store.update { $0[Keys.count] += 1 } }
            #expect(service.memory.load()["count"] == 1)
            try await store.isolated { store in
                store[Keys.text] = "last"
                try await store.close()
            }
        }
        try await task.value
        #expect(service.memory.load().values == ["count": 1, "text": "last"])
    }

    @Test("A released store writes its edits to a service as well, within the limits")
    func lastWrite() async throws {
        let service = ServiceBackend(limits: StorageLimits(operations: 2))
        service.hold(.beforeEdit)
        var store: ObservableStore? = try await ObservableStore.open(service)
        let failures = store?.failures
        for name in ["a", "b", "c"] { store?[StorageKey(name, default: 0)] = 1 }
        store = nil
        service.release(.beforeEdit)
        // The stream ends after the last write.
        for await failure in try #require(failures) { Issue.record(failure) }
        #expect(service.memory.load().values == ["a": 1, "b": 1, "c": 1])
    }
}

@Suite("Revisions of a storage")
struct StorageRevisionTests {
    private let revision = StorageRevision(history: "5d-41", number: 17)

    @Test("A revision is its text, which can be kept and read again")
    func text() throws {
        #expect("\(revision)" == "5d-41-17" && StorageRevision("5d-41-17") == revision)
        #expect(try JSONDecoder().decode([StorageRevision].self, from: JSONEncoder().encode([revision])) == [revision])
    }

    @Test("Other texts are no revisions", arguments: ["", "17", "-17", "5d-", "5d-x", "5d-+1", "5d-01", "5d-18446744073709551616"])
    func invalid(text: String) {
        #expect(StorageRevision(text) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(StorageRevision.self, from: JSONEncoder().encode(text)) }
    }

    @Test("Revisions are compared within one history only")
    func order() {
        let later = StorageRevision(history: "5d-41", number: 18)
        #expect(later.isNewer(than: revision) && !revision.isNewer(than: later) && !revision.isNewer(than: revision))
        #expect(!StorageRevision(history: "other", number: 99).isNewer(than: revision))
    }
}
