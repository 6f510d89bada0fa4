#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import ObservableStorageTesting
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    extension StorageKey where Value == Int {
        static var count: Self { StorageKey("count", default: 0) }
    }

    /// A prefix of its own on a server of all tests.
    struct EtcdFixture {
        let cluster: EtcdCluster
        let prefix = "test/\(UUID().uuidString)"

        init(_ cluster: EtcdCluster? = nil) async throws {
            if let cluster { self.cluster = cluster } else { self.cluster = try await EtcdCluster.shared() }
        }

        var configuration: EtcdConfiguration {
            EtcdConfiguration(
                endpoints: cluster.endpoints, prefix: prefix, requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        }

        /// Another process.
        ///
        /// - Parameter renewals: how often it renews a lease during its time to live.
        func backend(renewals: Int = 3) throws -> EtcdBackend {
            var timing = EtcdWatch.Timing.patient
            timing.renewals = renewals
            return try EtcdBackend(configuration, timing: timing)
        }

        /// - Parameter endpoint: that of another server than the cluster's.
        func client(of endpoint: String? = nil) throws -> EtcdClient {
            var configuration = configuration
            if let endpoint { configuration.endpoints = [endpoint] }
            return try EtcdClient(configuration)
        }

        var keys: EntryKeys { EntryKeys(prefix: prefix) }

        /// Writes a key as a person does with `etcdctl`.
        func put(_ name: String, _ bytes: [UInt8]) async throws {
            let key = keys.start + name.utf8
            _ = try await client().call(PutRequest(key: key, value: bytes), deadline: .now + .seconds(60))
        }

        func delete(_ name: String) async throws {
            let key = keys.start + name.utf8
            _ = try await client().call(DeleteRangeRequest(key: key), deadline: .now + .seconds(60))
        }

        /// The keys that are stored, without those of the backend.
        func stored() async throws -> [String: [UInt8]] {
            let range = RangeRequest(key: keys.entriesStart, rangeEnd: keys.rangeEnd)
            let keyValues = try await client().call(range, deadline: .now + .seconds(60)).keyValues
            return Dictionary(
                uniqueKeysWithValues: keyValues.map { (String(decoding: $0.key.dropFirst(keys.start.count), as: UTF8.self), $0.value) })
        }
    }

    extension EtcdBackend {
        /// Sets values in one edit.
        @discardableResult
        func set(_ values: [String: PropertyListValue?]) async throws -> StorageEntries {
            try await edit { entries in
                entries.readKeys = []
                for (key, value) in values { entries[key] = value }
            }
        }
    }

    @Suite("Entries in etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdBackendTests {
        @Test("An empty prefix has no entries, and what is stored is read by another process, with a later revision")
        func roundTrip() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let empty = try await backend.load()
            #expect(empty.values.isEmpty)
            let values: [String: PropertyListValue] = [
                "text": "x", "number": 1, "real": 0.5, "list": [1, "a", true], "nested": ["a": ["b": 2]], "ü/1": .data(Data([0, 255])),
            ]
            let stored = try await backend.set(values.mapValues { $0 })
            #expect(stored.values == values)
            let (before, after) = (try #require(empty.revision), try #require(stored.revision))
            #expect(after.isNewer(than: before))
            let other = try await fixture.backend().load()
            #expect(other.values == values)
            #expect(try await fixture.stored().keys.sorted() == values.keys.sorted())
            let removed = try await backend.set(["text": nil, "missing": nil])
            #expect(removed["text"] == nil)
            #expect(try await fixture.backend().load().values == removed.values)
        }

        @Test("It keeps the promises of a backend", arguments: BackendPromise.allCases)
        func promises(promise: BackendPromise) async throws {
            let fixture = try await EtcdFixture()
            try await promise.check { try fixture.backend() }
        }

        @Test("What a backend keeps beside its entries is no entry for one whose prefix is shorter")
        func nestedPrefix() async throws {
            let fixture = try await EtcdFixture()
            var configuration = fixture.configuration
            configuration.prefix += "/web"
            let (outer, inner) = (try fixture.backend(), try EtcdBackend(configuration, timing: .patient))
            try await outer.set(["a": 1])
            try await inner.set(["b": 2])
            try await inner.set(["b": nil, "c": 3])
            let expected: [String: PropertyListValue] = ["a": 1, "web/c": 3]
            let entries = try await outer.edit { _ in }
            #expect(entries.values == expected)
            #expect(try await fixture.backend().load().values == expected)
            let check = try await outer.check()
            #expect(check.keyCount == 2 && check.failures.isEmpty)
        }

        @Test("A key is readable for people, and its value is a binary property list")
        func format() async throws {
            let fixture = try await EtcdFixture()
            try await fixture.backend().set(["server/port": 80])
            let bytes = try #require(try await fixture.stored()["server/port"])
            #expect(try PropertyListValue.decode(Data(bytes)).value == 80)
            #expect(bytes.starts(with: "bplist00".utf8))
        }

        @Test("What is no property list is read as data, and stays as it is")
        func foreignValue() async throws {
            let fixture = try await EtcdFixture()
            try await fixture.put("greeting", Array("hello".utf8))
            let backend = try fixture.backend()
            #expect(try await backend.load()["greeting"] == .data(Data("hello".utf8)))
            try await backend.set(["other": 1])
            #expect(try await fixture.stored()["greeting"] == Array("hello".utf8))
        }

        @Test("A name that can be no key is refused, and nothing is stored", arguments: ["\0a"])
        func invalidName(name: String) async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            await #expect(throws: StorageError.self) { try await backend.set([name: 1, "other": 1]) }
            #expect(try await fixture.stored().isEmpty)
        }

        @Test("A value that etcd does not take is refused with its size")
        func tooLarge() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend())
            let error = await #expect(throws: StorageError.self) {
                try await store.update { try $0.set(Data(count: 2_000_000), for: StorageKey("data", default: Data())) }
            }
            guard case .tooLarge? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            try await store.close()
        }

        @Test("More edits than fit into one transaction are stored in several")
        func manyEdits() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend())
            for number in 0..<300 { try store.set(number, for: StorageKey("key \(number)", default: -1)) }
            try await store.flush()
            #expect(try await fixture.stored().count == 300)
            try await store.close()
        }

        @Test("The closure of an edit runs on the newest entries, also if it changes nothing or throws", arguments: [nil, ["a"]])
        func newest(reading names: Set<String>?) async throws {
            struct Found: Error { let value: PropertyListValue? }
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            try await backend.set(["a": 1])
            for number in 2..<20 {
                let value = PropertyListValue.integer(PropertyListInteger(Int64(number)))
                try await fixture.put("a", value.etcdBytes(for: "a"))
                let entries = try await backend.edit { $0.readKeys = names }
                #expect(entries["a"] == value)
                let deleted = number.isMultiple(of: 2)
                if deleted { try await fixture.delete("a") }
                do {
                    _ = try await backend.edit {
                        $0.readKeys = names
                        throw Found(value: $0["a"])
                    }
                    Issue.record("the error is missing")
                } catch let found as Found {
                    #expect(found.value == (deleted ? nil : value))
                }
            }
        }
    }

    @Suite("Transactions in etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdTransactionTests {
        @Test("Increments by several processes are all counted")
        func increments() async throws {
            let fixture = try await EtcdFixture()
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let store = try await ObservableStore.open(fixture.backend())
                        for _ in 0..<40 { try await store.update { $0[.count] += 1 } }
                        try await store.close()
                    }
                }
                try await group.waitForAll()
            }
            let store = try await ObservableStore.open(fixture.backend())
            #expect(store[.count] == 160)
            try await store.close()
        }

        @Test("Edits that have read nothing are stored whatever others do meanwhile")
        func blind() async throws {
            let fixture = try await EtcdFixture()
            let (first, second) = (try fixture.backend(), try fixture.backend())
            let runs = Lock(0)
            _ = try await first.edit { entries in
                entries.readKeys = []
                runs.withLock { $0 += 1 }
                entries["a"] = 1
            }
            try await second.set(["a": 2])
            _ = try await first.edit { entries in
                entries.readKeys = []
                runs.withLock { $0 += 1 }
                entries["a"] = 3
            }
            #expect(runs.withLock { $0 } == 2)
            #expect(try await second.load()["a"] == 3)
        }

        @Test("Edits whose outcome is unknown are stored once when they are repeated, whatever has become of them", .servers(1))
        func repeated() async throws {
            let cluster = try await EtcdCluster.start()
            let fixture = try await EtcdFixture(cluster)
            var configuration = fixture.configuration
            configuration.requestTimeout = .milliseconds(300)
            var timing = EtcdWatch.Timing.patient
            // The server may be suspended between its response and the event, and is not resumed before the edit fails.
            timing.arrival = .seconds(1)
            let backend = try EtcdBackend(configuration, timing: timing)
            try await fixture.backend().set(["a": 0])
            let range = RangeRequest(key: fixture.keys.start + "a".utf8)
            var losses = 0
            for round in 1...8 {
                var unknown: Set<UInt64> = []
                cluster.suspend(0)
                while true {
                    let identity = UInt64(unknown.count)
                    let isStored = Lock(false)
                    var options = CommitOptions()
                    (options.identity, options.unknown) = (identity, unknown)
                    options.whenResolved = { outcomes in isStored.withLock { $0 = outcomes.values.contains(true) } }
                    do {
                        let entries = try await backend.edit(options) { entries in
                            entries.readKeys = []
                            guard !isStored.withLock({ $0 }) else { return }
                            entries["a"] = .integer(PropertyListInteger(Int64(round)))
                        }
                        #expect(entries["a"] == .integer(PropertyListInteger(Int64(round))))
                        break
                    } catch let error as StorageError {
                        // On a busy machine the time may also pass for other reasons, before anything is sent.
                        if case .outcomeUnknown = error { unknown.insert(identity) }
                    }
                    cluster.resume(0)
                }
                cluster.resume(0)
                losses += unknown.count
                let stored = try await fixture.client().call(range, deadline: .now + .seconds(60)).details
                #expect(stored?.version == Int64(round) + 1)
            }
            #expect(losses > 0)
            withExtendedLifetime(cluster) {}
        }

        @Test("An edit without effect runs once, however often others change what it has not read", arguments: [false, true])
        func readOnly(throws: Bool) async throws {
            struct Refused: Error {}
            let fixture = try await EtcdFixture()
            let (backend, other) = (try fixture.backend(), try fixture.backend())
            let runs = Lock(0)
            let writing = Task {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    try await other.set(["b": .integer(PropertyListInteger(Int64(number)))])
                }
            }
            // It is under way.
            while try await backend.load()["b"] == nil {}
            for _ in 0..<50 {
                do {
                    _ = try await backend.edit { entries in
                        entries.readKeys = ["a"]
                        runs.withLock { $0 += 1 }
                        if `throws` { throw Refused() }
                    }
                } catch is Refused {
                    #expect(`throws`)
                }
            }
            #expect(runs.withLock { $0 } == 50)
            writing.cancel()
            _ = await writing.result
        }

        /// What another process does while the closure runs for the first time.
        enum Meanwhile: String, CaseIterable, Sendable {
            case changes, deletes, creates, deletesWithEtcdctl
        }

        @Test("An edit is not stored if what it has read has changed, and can be repeated", arguments: Meanwhile.allCases, [true, false])
        func conflict(meanwhile: Meanwhile, readsAll: Bool) async throws {
            let fixture = try await EtcdFixture()
            let (backend, other) = (try fixture.backend(), try fixture.backend())
            try await other.set(["a": 1, "b": 1])
            _ = try await backend.load()
            // The closure of an edit cannot wait; another one, that it is compared with, is stored between its run and its transaction.
            let replica = try await backend.replica()
            var entries = replica.entries.stored(at: replica.entries.revision)
            entries.readKeys = readsAll ? nil : ["a", "c"]
            entries["sum"] = 2
            switch meanwhile {
            case .changes: try await other.set(["a": 2])
            case .deletes: try await other.set(["a": nil])
            case .creates: try await other.set(["c": 1])
            case .deletesWithEtcdctl: try await fixture.delete("a")
            }
            #expect(try await backend.commit(entries, over: replica.entries) == nil)
            let stored = try await backend.edit { entries in
                entries.readKeys = readsAll ? nil : ["a", "c"]
                entries["sum"] = 3
            }
            #expect(stored["sum"] == 3)
        }

        @Test("A deletion is recorded beside the entries: an edit that has read very many is compared with that record")
        func recordedDeletion() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let record = RangeRequest(key: fixture.keys.fence)
            func recorded() async throws -> Int64? {
                try await fixture.client().call(record, deadline: .now + .seconds(60)).keyValues.first?.modRevision
            }
            try await backend.set(["a": 1, "b": 1])
            #expect(try await recorded() == nil)
            let stored = try await backend.set(["a": nil])
            #expect(try await recorded() == stored.revision.map { Int64($0.number) })
        }

        @Test("A transaction whose task is cancelled has taken effect if it does not throw, and has not if it does")
        func cancellation() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend())
            var returned = 0
            for number in 0..<60 {
                let task = Task { try await store.update { $0[.count] += 1 } }
                if number.isMultiple(of: 2) { await Task.yield() }
                task.cancel()
                if case .success = await task.result { returned += 1 }
            }
            #expect(try await fixture.backend().load()["count"] ?? 0 == .integer(PropertyListInteger(Int64(returned))))
            try await store.close()
        }

        @Test("A key of the prefix itself, and a lease that was revoked, hinder nothing")
        func obstacles() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            try await fixture.put("", Array("x".utf8))
            #expect(try await backend.edit { _ in }.values.isEmpty)
            backend.transactions.withLock { $0[0].lease = (id: 12_345, renewal: .now + .seconds(1_000)) }
            #expect(try await backend.set(["a": 1])["a"] == 1)
        }

        @Test("An edit is stored if something has changed that it has not read, also after one was refused", arguments: [false, true])
        func unrelated(afterRefusal: Bool) async throws {
            let fixture = try await EtcdFixture()
            let (backend, other) = (try fixture.backend(), try fixture.backend())
            try await other.set(["a": 1, "b": 1])
            if afterRefusal {
                let error = await #expect(throws: StorageError.self) {
                    try await backend.edit { entries in
                        entries.readKeys = ["a", "b"]
                        entries["large"] = .data(Data(count: 1_700_000))
                    }
                }
                if case .tooLarge? = error {} else { Issue.record("\(String(describing: error))") }
            }
            let replica = try await backend.replica()
            var entries = replica.entries.stored(at: replica.entries.revision)
            entries.readKeys = ["a"]
            entries["sum"] = 2
            try await other.set(["b": 2])
            let stored = try #require(try await backend.commit(entries, over: replica.entries))
            #expect(stored.values == ["a": 1, "b": 2, "sum": 2])
        }
    }

    extension EtcdBackend {
        fileprivate func replica() async throws -> EtcdReplica.View {
            _ = try await load()
            return try #require(follower.latest)
        }

        /// Stores entries that were edited before; nil if what they have read has changed.
        fileprivate func commit(_ entries: StorageEntries, over earlier: StorageEntries) async throws -> StorageEntries? {
            try await withTransaction { try await $0.commit(entries, over: earlier) }
        }
    }
#endif
