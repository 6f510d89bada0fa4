import TestSupport
import Testing

@testable import ObservableStorage

/// A storage that takes less than its backend says.
@Suite("Edits that a storage refuses as too large", .timeLimit(.minutes(10)))
struct TooLargeTests {
    private static let long = String(repeating: "x", count: 101)
    private static let refused = StorageError.tooLarge(key: "text", reason: "refused")

    private func key(_ name: String) -> StorageKey<Int> { StorageKey(name, default: 0) }

    /// A service that takes two entries in an edit, and short texts; each edit that it refuses is recorded with its number of entries.
    private func service(
        _ entries: [String: PropertyListValue] = [:], limits: StorageLimits = StorageLimits()
    ) -> (service: ServiceBackend, refusals: Recorder<Int>) {
        let (service, refusals) = (ServiceBackend(entries, limits: limits), Recorder<Int>())
        service.refuse { entries in
            let isTooLarge = entries.editedKeys.count > 2 || entries.editedKeys.contains { entries[$0]?.string?.count ?? 0 > 100 }
            if isTooLarge { refusals.record(entries.editedKeys.count) }
            return isTooLarge
        }
        return (service, refusals)
    }

    private func edit(_ store: ObservableStore) {
        for name in ["a", "b", "c"] { store[key(name)] = 1 }
        store[Keys.text] = Self.long
        store.edit { edits in
            for name in ["d", "e"] { edits[key(name)] = 2 }
        }
        store[key("f")] = 3
    }

    private static let accepted: [String: PropertyListValue] = ["a": 1, "b": 1, "c": 1, "d": 2, "e": 2, "f": 3]

    /// The errors of a store that is released with edits, after its last write.
    private func failures(of service: ServiceBackend, after edit: (ObservableStore) -> Void) async throws -> [StorageError] {
        var store: ObservableStore? = try await ObservableStore.open(service)
        let failures = try #require(store?.failures)
        await store?.suspend()
        if let store { edit(store) }
        store = nil
        return await failures.reduce(into: []) { $0.append($1) }
    }

    @Test("They are stored in smaller commits, and one that is refused alone is reverted", arguments: [nil, 4])
    func divided(operations: Int?) async throws {
        let (service, _) = service(limits: StorageLimits(operations: operations))
        let store = try await ObservableStore.open(service)
        let failures = store.failures
        let error = await store.isolated { store in
            edit(store)
            return await store.flushFailure()
        }
        #expect(error == Self.refused)
        #expect(await failures.first { _ in true } == Self.refused)
        #expect(service.memory.load().values == Self.accepted)
        #expect(!store.isSet(Keys.text) && store.unwrittenKeys.isEmpty)
        try await store.flush()
    }

    @Test("The last write divides them as well, and loses only what is refused alone")
    func lastWrite() async throws {
        let (service, _) = service()
        #expect(try await failures(of: service) { edit($0) } == [Self.refused])
        #expect(service.memory.load().values == Self.accepted)
    }

    @Test("How many are taken in one commit is found out once, and again after sixteen such commits")
    func limit() async throws {
        let (service, refusals) = service()
        let store = try await ObservableStore.open(service)
        for value in 1...5 {
            #expect(refusals.elements == (value == 1 ? [] : [8, 4]))
            try await store.isolated { store in
                for number in 0..<8 { store[key("\(number)")] = value }
                try await store.flush()
            }
        }
        #expect(refusals.elements == [8, 4, 4])
        try await store.update { $0[key("0")] = 7 }
        #expect(service.memory.load()["0"] == 7)
    }

    @Test("A step is refused as a whole, with its names, and not what has replaced parts of an earlier one")
    func step() async throws {
        let (service, refusals) = service()
        let store = try await ObservableStore.open(service)
        let error = await store.isolated { store in
            store[key("z")] = 1
            store.edit { edits in
                for name in ["a", "b", "c"] { edits[key(name)] = 1 }
            }
            store[key("b")] = 2
            store.edit { edits in
                for name in ["a", "c", "d"] { edits[key(name)] = 3 }
            }
            return await store.flushFailure()
        }
        #expect(error == .tooLarge(key: nil, reason: "a, c, d: refused"))
        #expect(service.memory.load().values == ["z": 1, "b": 2] && store.entries == ["z": 1, "b": 2])
        #expect(refusals.elements == [5, 3])
    }

    @Test("If the new value of a renamed key is refused, the value under its earlier name is kept", arguments: [false, true])
    func renamed(isLast: Bool) async throws {
        let (service, _) = service(["old": "kept"])
        let renamed = StorageKey("new", default: "").renamed(from: "old")
        @Sendable func edit(_ store: ObservableStore) {
            store[renamed] = "short"
            store.edit { edits in
                edits[key("a")] = 1
                edits[renamed] = Self.long
            }
            store[key("b")] = 2
        }
        let expected = StorageError.tooLarge(key: nil, reason: "a, new: refused")
        if isLast {
            #expect(try await failures(of: service) { edit($0) } == [expected])
        } else {
            let store = try await ObservableStore.open(service)
            let error = await store.isolated { store in
                edit(store)
                return await store.flushFailure()
            }
            #expect(error == expected && store[renamed] == "kept" && store.unwrittenKeys.isEmpty)
        }
        #expect(service.memory.load().values == ["old": "kept", "b": 2])
    }

    @Test("A transaction is stored although other edits wait, and refused for its own size only", arguments: [nil, 3])
    func transaction(operations: Int?) async throws {
        let (service, _) = service(limits: StorageLimits(operations: operations))
        let store = try await ObservableStore.open(service)
        service.hold(.afterEdit)
        async let first: Void = store.update { $0[key("a")] = 5 }
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        let update = Task { try await store.update { $0[key("a")] += 1 } }
        while !store.synchronizer.storage.isAwaited { await Task.yield() }
        // After the first transaction, and before the second one.
        edit(store)
        service.release(.afterEdit)
        try await first
        try await update.value
        #expect(service.memory.load().values == Self.accepted.merging(["a": 2]) { $1 })
        #expect(store[key("a")] == 2 && !store.isSet(Keys.text))
        let error = await #expect(throws: StorageError.self) {
            try await store.update { transaction in
                for name in ["x", "y", "z"] { transaction[key(name)] = 1 }
            }
        }
        #expect(error == .tooLarge(key: nil, reason: "refused"))
        #expect(service.memory.load().values == Self.accepted.merging(["a": 2]) { $1 })
    }
}
