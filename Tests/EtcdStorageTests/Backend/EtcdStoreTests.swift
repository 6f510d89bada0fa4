#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Stores on etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdStoreTests {
        @Test("A store reports each change by another one, in order, and the last value")
        func changes() async throws {
            let fixture = try await EtcdFixture()
            let (reader, writer) = (
                try await ObservableStore.open(fixture.backend()), try await ObservableStore.open(fixture.backend())
            )
            let changes = reader.changes(of: .count)
            for number in 1...50 { try await writer.update { $0[.count] = number } }
            var received: [Int] = []
            for await change in changes {
                received.append(change.newValue)
                #expect(change.origin == .external)
                if change.newValue == 50 { break }
            }
            #expect(received == Array(1...50))
            try await reader.close()
            try await writer.close()
        }

        @Test("Two stores on one backend follow each other")
        func sharedBackend() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let (first, second) = (try await ObservableStore.open(backend), try await ObservableStore.open(backend))
            var values = second.values(of: .count).makeAsyncIterator()
            first[.count] = 5
            while let value = await values.next(), value != 5 {}
            second[.count] = 6
            try await second.flush()
            #expect(try await fixture.backend().load()["count"] == 6)
            try await first.close()
            try await second.close()
        }

        @Test("A store has all entries, also if they are read in several pages")
        func pages() async throws {
            let fixture = try await EtcdFixture()
            let writer = try fixture.backend()
            let numbers = Array(0..<2_100)
            for start in stride(from: 0, to: numbers.count, by: 100) {
                var values: [String: PropertyListValue?] = [:]
                for number in numbers[start..<(start + 100)] { values["n\(number)"] = .integer(PropertyListInteger(Int64(number))) }
                try await writer.set(values)
            }
            let store = try await ObservableStore.open(fixture.backend())
            #expect(numbers.allSatisfy { store[StorageKey("n\($0)", default: -1)] == $0 })
            #expect(try await fixture.backend().load().values.count == numbers.count)
            try await store.close()
        }

        @Test("Layers, migrations, scenes and snapshots are those of a store over a file")
        func everything() async throws {
            let fixture = try await EtcdFixture()
            try await fixture.backend().set(["oldName": 3, "forced": 1])
            let defaults = InMemoryBackend(["count": 7, "forced": 2])
            let store = try await ObservableStore.open(
                fixture.backend(), defaults: [defaults], mandatory: [InMemoryBackend(["forced": 3])])
            let forced = StorageKey("forced", default: 0)
            #expect(store[.count] == 7 && store[forced] == 3)
            #expect(throws: StorageError.mandatory(key: "forced")) { try store.set(4, for: forced) }

            let renamed = StorageKey("newName", default: 0).renamed(from: "oldName")
            #expect(store[renamed] == 3)
            try store.migrateValue(of: renamed)
            try await store.migrate([StoreMigration(to: 2) { $0[.count] += 1 }])
            #expect(store.schemaVersion == 2 && store[.count] == 8)

            let snapshot = store.snapshot
            let scene = SceneStore(sceneID: "main window/1", base: store)
            scene[.count] = 9
            try await store.flush()
            #expect(store[.count] == 8 && scene[.count] == 9 && snapshot[.count] == 8)

            let other = try await ObservableStore.open(fixture.backend())
            #expect(SceneStore(sceneID: "main window/1", base: other)[.count] == 9)
            #expect(other.schemaVersion == 2 && other[.count] == 8 && other[forced] == 1)
            let stored = try await fixture.stored()
            #expect(stored["newName"] != nil && stored["oldName"] == nil)
            try await store.close()
            try await other.close()
        }

        @Test("After a restart, the changes since a revision by all writers are reported in order, and then the live ones")
        func resumed() async throws {
            let fixture = try await EtcdFixture()
            let first = try await ObservableStore.open(fixture.backend())
            try await first.update { $0[.count] = 1 }
            let revision = try #require(first.storageRevision)
            try await first.close()
            let writer = try await ObservableStore.open(fixture.backend())
            for number in 2...5 { try await writer.update { $0[.count] = number } }
            let store = try await ObservableStore.open(fixture.backend())
            let changes = try #require(try await store.changes(of: .count, since: revision))
            try await writer.update { $0[.count] = 6 }
            var received: [[Int]] = []
            for await change in changes {
                received.append([change.oldValue, change.newValue])
                if change.newValue == 6 { break }
            }
            #expect(received == (1...5).map { [$0, $0 + 1] })
            try await store.close()
            try await writer.close()
        }

        @Test("A cluster with lower limits stores all edits except those that it refuses alone", .servers(1))
        func lowerLimits() async throws {
            let cluster = try await EtcdCluster.start(arguments: ["--max-txn-ops", "8", "--max-request-bytes", "4096"])
            let fixture = try await EtcdFixture(cluster)
            let store = try await ObservableStore.open(fixture.backend())
            var failures = store.failures.makeAsyncIterator()
            @Sendable func text(_ name: String) -> StorageKey<String> { StorageKey(name, default: "") }
            let refused = await store.isolated { store in
                for number in 0..<20 { store[StorageKey("\(number)", default: 0)] = 1 }
                for number in 0..<10 { store[text("text \(number)")] = String(repeating: "x", count: 1_000) }
                // More than a transaction may have, and more than a message.
                store[text("large")] = String(repeating: "x", count: 5_000)
                store[text("larger")] = String(repeating: "x", count: 1_000_000)
                store.edit { edits in
                    for number in 0..<9 { edits[StorageKey("step \(number)", default: 0)] = 1 }
                }
                store[StorageKey("last", default: 0)] = 1
                return await store.flushFailure()
            }
            var told: [String?] = []
            for _ in 0..<3 {
                guard case .tooLarge(let key, let reason)? = await failures.next() else { break }
                #expect(reason.contains(fixture.prefix))
                told.append(key)
            }
            #expect(told == ["large", "larger", nil])
            if case .tooLarge("large", _) = refused {} else { Issue.record("\(refused as Any)") }
            #expect(store.unwrittenKeys.isEmpty && store.entries.count == 31)
            #expect(try await fixture.stored().count == 31)
            try await store.update { $0[StorageKey("last", default: 0)] += 1 }
            #expect(store[StorageKey("last", default: 0)] == 2)
            // More comparisons than a transaction may have, without edits and with some.
            @Sendable func sum(_ edits: StoreTransaction) -> Int { (0..<20).reduce(0) { $0 + edits[StorageKey("\($1)", default: 0)] } }
            #expect(try await store.update { sum($0) } == 20)
            let other = try await ObservableStore.open(fixture.backend())
            @Sendable func increment(_ store: ObservableStore, _ number: Int) async throws {
                try await store.update { edits in
                    edits[StorageKey("sum", default: 0)] = sum(edits) + 1
                    edits[StorageKey("\(number)", default: 0)] += 1
                }
            }
            async let others: Void = { for number in 0..<15 { try await increment(other, number) } }()
            for number in 5..<20 { try await increment(store, number) }
            try await others
            #expect(try await fixture.backend().load()["sum"] == 50)
            for store in [store, other] { try await store.close() }
        }

        @Test("Commits have the old and the new values; none before the oldest that is kept, nor of another history", .servers(1))
        func commits() async throws {
            let cluster = try await EtcdCluster.start(members: 1)
            let fixture = try await EtcdFixture(cluster)
            let backend = try fixture.backend()
            let first = try #require(try await backend.set(["a": 1]).revision)
            try await backend.set(["a": 2, "b": 1])
            let third = try #require(try await backend.set(["a": nil]).revision)
            let commits = try #require(try await backend.commits(since: first))
            #expect(
                commits.map(\.edits) == [
                    ["a": StorageCommit.Edit(from: 1, to: 2), "b": StorageCommit.Edit(from: nil, to: 1)],
                    ["a": StorageCommit.Edit(from: 2, to: nil)],
                ])
            #expect(commits.last?.revision == third)
            #expect(try await backend.commits(since: third) == [])
            #expect(try await backend.commits(since: nil)?.count == 3)
            #expect(try await backend.commits(since: StorageRevision(history: "other", number: first.number)) == nil)
            #expect(try await backend.commits(since: StorageRevision(history: first.history, number: 1_000_000)) == nil)
            _ = try await fixture.client().call(
                CompactionRequest(revision: Int64(third.number)), deadline: .now + .seconds(60))
            #expect(try await backend.commits(since: first) == nil)
            #expect(try await backend.commits(since: third) == [])
            #expect(try await backend.commits(since: nil) != nil)
            withExtendedLifetime(cluster) {}
        }

        @Test("Commits after a revision are not remembered if the next one, a removal, was compacted", .servers(1))
        func compactedRemoval() async throws {
            let cluster = try await EtcdCluster.start(members: 1)
            let fixture = try await EtcdFixture(cluster)
            let backend = try fixture.backend()
            let set = try #require(try await backend.set(["a": 1]).revision)
            let removed = try #require(try await backend.set(["a": nil]).revision)
            #expect(removed.number == set.number + 1)
            #expect(try await backend.commits(since: set)?.map(\.edits) == [["a": StorageCommit.Edit(from: 1, to: nil)]])
            let compaction = CompactionRequest(revision: Int64(removed.number))
            _ = try await fixture.client().call(compaction, deadline: .now + .seconds(60))
            #expect(try await backend.commits(since: set) == nil)
            #expect(try await backend.commits(since: removed) == [])
            withExtendedLifetime(cluster) {}
        }

        @Test("Commits that take more memory than the limit are not remembered")
        func largeCommits() async throws {
            let fixture = try await EtcdFixture()
            var configuration = fixture.configuration
            configuration.memoryLimit = 100_000
            let backend = try EtcdBackend(configuration, timing: .patient)
            var revisions: [StorageRevision] = []
            for number in 0..<20 {
                let value = PropertyListValue.data(Data(repeating: UInt8(number), count: 10_000))
                revisions.append(try #require(try await backend.set(["a": value]).revision))
            }
            #expect(try await backend.commits(since: revisions[0]) == nil)
            // Each has the value before as well.
            #expect(try await backend.commits(since: revisions[15])?.count == 4)
        }

        @Test("A service that is cancelled stores its edits before it ends")
        func run() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend())
            let service = Task { try await store.run() }
            store[.count] = 5
            service.cancel()
            try await service.value
            #expect(try await fixture.backend().load()["count"] == 5)
        }

        @Test("A backend that is released follows the cluster no longer")
        func release() async throws {
            let fixture = try await EtcdFixture()
            weak var follower: EtcdFollower?
            do {
                let backend = try fixture.backend()
                _ = try await backend.load()
                follower = backend.follower
                #expect(follower != nil)
            }
            // Its task ends at the next step, which a change is.
            while follower != nil { try await fixture.put("a", Array("x".utf8)) }
        }

        @Test("A cluster that cannot be reached is reported with its address, and a store that has opened it keeps its values")
        func unreachable() async throws {
            let configuration = EtcdConfiguration(endpoints: ["127.0.0.1:1"], prefix: "p", requestTimeout: .milliseconds(200))
            let backend = try EtcdBackend(configuration)
            let error = await #expect(throws: StorageError.self) { try await backend.load() }
            #expect("\(try #require(error))".contains("127.0.0.1:1"))
        }
    }

    /// What the article shows, which needs those machines.
    private func example() async throws {
        // snippet: EtcdStorage
        let configuration = EtcdConfiguration(
            endpoints: ["10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"], prefix: "services/web")
        let store = try await ObservableStore.open(EtcdBackend(configuration))
        // end
        try await store.close()
    }
#endif
