#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Clusters that lose their data, or are restored", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdRestorationTests {
        /// A cluster of one member that may begin anew, with the same identifier.
        private func cluster() async throws -> EtcdCluster {
            try await EtcdCluster.start(arguments: ["--initial-cluster-state", "new"])
        }

        private func data(of cluster: EtcdCluster) -> String { "\(cluster.folder)/member0" }

        private func clusterID(_ fixture: EtcdFixture) async throws -> UInt64 {
            try await fixture.client().call(RangeRequest(key: [1]), deadline: .now + .seconds(60)).header.clusterID
        }

        /// Counts up, until the revision is later than another one; returns that of the last commit.
        private func write(_ backend: EtcdBackend, beyond revision: StorageRevision? = nil) async throws -> StorageRevision {
            while true {
                let entries = try await backend.edit { entries in
                    entries["count"] = .integer(PropertyListInteger(Int64((entries["count"]?.int ?? 0) + 1)))
                }
                let last = try #require(entries.revision)
                if last.number > revision?.number ?? 0 { return last }
            }
        }

        private func changes(_ fixture: EtcdFixture, since revision: StorageRevision) async throws -> AsyncStream<Change<Int>>? {
            try await ObservableStore.open(fixture.backend()).changes(of: .count, since: revision)
        }

        /// The reserved key with the number.
        private func mark(_ fixture: EtcdFixture) async throws -> KeyValue? {
            let range = RangeRequest(key: fixture.keys.history)
            return try await fixture.client().call(range, deadline: .now + .seconds(60)).keyValues.first
        }

        private func isWrittenOnce(_ keyValue: KeyValue?) -> Bool {
            keyValue.map { $0.createRevision == $0.modRevision } ?? false
        }

        @Test(
            "After the data was lost, there are no changes since an earlier revision, whoever has written since", .servers(1),
            arguments: [true, false])
        func lostData(isWrittenByLibrary: Bool) async throws {
            let cluster = try await cluster()
            let fixture = try await EtcdFixture(cluster)
            let identifier = try await clusterID(fixture)
            let revision = try await write(fixture.backend(), beyond: StorageRevision(history: "", number: 10))
            #expect(try await changes(fixture, since: revision) != nil)

            try await cluster.kill(0)
            try FileManager.default.removeItem(atPath: data(of: cluster))
            try await cluster.restart(0)
            #expect(try await clusterID(fixture) == identifier)
            if isWrittenByLibrary {
                let later = try await write(fixture.backend(), beyond: revision)
                #expect(try await changes(fixture, since: later) != nil)
            } else {
                for _ in 0..<20 { try await fixture.put("count", (7 as PropertyListValue).etcdBytes(for: "count")) }
            }
            #expect(try await changes(fixture, since: revision) == nil)
        }

        /// Copies the data of a cluster.
        private func backUp(_ cluster: EtcdCluster) async throws -> String {
            try await cluster.kill(0)
            let backup = "\(cluster.folder)/backup"
            try FileManager.default.copyItem(atPath: data(of: cluster), toPath: backup)
            try await cluster.restart(0)
            return backup
        }

        /// Replaces the data of a cluster, which is not running afterwards.
        private func stop(_ cluster: EtcdCluster, restoring backup: String) async throws {
            try await cluster.kill(0)
            try FileManager.default.removeItem(atPath: data(of: cluster))
            try FileManager.default.moveItem(atPath: backup, toPath: data(of: cluster))
        }

        private func expectNewHistory(
            _ fixture: EtcdFixture, from later: StorageRevision, insteadOf earlier: StorageRevision, marked number: [UInt8]
        ) async throws {
            #expect(later.history != earlier.history)
            #expect(try await mark(fixture)?.value != number)
            #expect(try await changes(fixture, since: earlier) == nil)
            #expect(try await changes(fixture, since: later) != nil)
        }

        @Test("After a backup was restored, and a process has noticed that, there are no changes since an earlier revision", .servers(1))
        func restoredBackup() async throws {
            let cluster = try await cluster()
            let fixture = try await EtcdFixture(cluster)
            let witness = try fixture.backend()
            _ = try await write(witness)
            let number = try #require(try await mark(fixture)?.value)
            let backup = try await backUp(cluster)
            let failures = Recorder<StorageEvent>()
            let token = witness.watch(since: nil, on: DispatchQueue(label: "events")) { if case .failed = $0 { failures.record($0) } }
            let revision = try await write(witness, beyond: StorageRevision(history: "", number: 20))
            try await stop(cluster, restoring: backup)
            try await cluster.restart(0)
            guard case .failed(.historyLost) = try await failures.elements(count: 1)[0] else {
                return #expect(Bool(false), "\(failures.elements)")
            }
            let later = try await write(witness, beyond: revision)
            try await expectNewHistory(fixture, from: later, insteadOf: revision, marked: number)
            token.cancel()
        }

        @Test(
            "A process that was away while a backup was restored, and others wrote more than it has missed, has all entries, and another history",
            .servers(2))
        func absence() async throws {
            let cluster = try await cluster()
            let fixture = try await EtcdFixture(cluster)
            let witness = try fixture.backend()
            _ = try await write(witness)
            let number = try #require(try await mark(fixture)?.value)
            let backup = try await backUp(cluster)
            let failures = Recorder<StorageEvent>()
            let token = witness.watch(since: nil, on: DispatchQueue(label: "events")) { if case .failed = $0 { failures.record($0) } }
            _ = try await write(witness, beyond: StorageRevision(history: "", number: 20))
            let revision = try #require(try await witness.set(["lost": 1]).revision)
            try await stop(cluster, restoring: backup)
            // The same member, at an address that the process does not know.
            let other = try await EtcdCluster.start(arguments: ["--data-dir", data(of: cluster)])
            var configuration = fixture.configuration
            configuration.endpoints = other.endpoints
            let last = try await write(EtcdBackend(configuration, timing: .patient), beyond: revision)
            #expect(last.history == revision.history)
            try await other.kill(0)
            try await cluster.restart(0)
            try await fixture.put("after", (7 as PropertyListValue).etcdBytes(for: "after"))
            await witness.follower.wait(until: .distant) { $0.view.entries["after"] != nil }
            try #require(witness.follower.latest?.entries.values.keys.sorted() == ["after", "count"])
            guard case .failed(.historyLost) = try await failures.elements(count: 1)[0] else {
                return #expect(Bool(false), "\(failures.elements)")
            }
            let later = try await write(witness, beyond: last)
            try await expectNewHistory(fixture, from: later, insteadOf: revision, marked: number)
            token.cancel()
        }

        @Test("A cluster that has lost its data is noticed by a request, also before the watch notices it", .servers(1))
        func unnoticed() async throws {
            let cluster = try await cluster()
            let fixture = try await EtcdFixture(cluster)
            let backend = try fixture.backend()
            let revision = try await write(backend, beyond: StorageRevision(history: "", number: 10))
            let replica = try #require(backend.follower.latest)
            try await cluster.kill(0)
            try FileManager.default.removeItem(atPath: data(of: cluster))
            try await cluster.restart(0)
            _ = try await write(fixture.backend(), beyond: revision)
            var transaction = EtcdTransaction(backend.follower)
            let (_, identity) = try await transaction.mark()
            #expect(!replica.identity.isContinued(by: identity, since: replica.revision))
        }

        @Test("The number is stored once, by the first edit, and is neither an entry nor a change")
        func hidden() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let first = try #require(try await backend.load().revision)
            #expect(try await mark(fixture) == nil)
            for number in 1...3 {
                try await backend.set(["a": .integer(PropertyListInteger(Int64(number)))])
                #expect(isWrittenOnce(try await mark(fixture)))
            }
            #expect(try await backend.load().values == ["a": 3])
            #expect(try await fixture.stored().keys.sorted() == ["a"])
            let commits = try #require(try await backend.commits(since: first))
            #expect(commits.map { $0.edits.keys.sorted() } == [["a"], ["a"], ["a"]])
            #expect(try await backend.check().keyCount == 1)
            let later = try #require(try await fixture.backend().load().revision)
            #expect(later.history == first.history)
        }

        @Test("Backends that begin together on an empty prefix store one number, and those that begin later have its name")
        func together() async throws {
            let fixture = try await EtcdFixture()
            let backends = [try fixture.backend(), try fixture.backend(), try fixture.backend()]
            for backend in backends { _ = try await backend.load() }
            try await withThrowingTaskGroup { group in
                for (number, backend) in backends.enumerated() { group.addTask { try await backend.set(["\(number)": 1]) } }
                try await group.waitForAll()
            }
            #expect(isWrittenOnce(try await mark(fixture)))
            let names = try await backends.asyncMap { try await $0.load().revision?.history }
            let later = try #require(try await fixture.backend().load().revision?.history)
            #expect(names.contains(later))
        }

        @Test("A prefix without the number is as it was, until something is stored; as many edits as before fit into the first transaction")
        func older() async throws {
            let fixture = try await EtcdFixture()
            for number in 0..<125 { try await fixture.put("\(number)", (1 as PropertyListValue).etcdBytes(for: "")) }
            let cluster = String(try await clusterID(fixture), radix: 16)
            let revision = try #require(try await fixture.backend().load().revision)
            #expect(revision.history == cluster)
            try await fixture.put("count", (7 as PropertyListValue).etcdBytes(for: "count"))
            let resumed = try #require(try await changes(fixture, since: revision))
            #expect(await resumed.first { _ in true }?.newValue == 7)

            let backend = try fixture.backend()
            let names = Dictionary(uniqueKeysWithValues: (0..<125).map { ("\($0)", PropertyListValue?.none) })
            #expect(backend.limits.operations == names.count)
            let stored = try await backend.set(names)
            #expect(stored.revision?.history == cluster && stored.values.keys.sorted() == ["count"])
            let later = try #require(try await fixture.backend().load().revision)
            #expect(later.history != cluster)
            #expect(try await changes(fixture, since: revision) == nil)
        }

        @Test("A presence that is stored first stores the number as well, once")
        func presence() async throws {
            let fixture = try await EtcdFixture()
            let (backend, other) = (try fixture.backend(), try fixture.backend())
            _ = (try await backend.load(), try await other.load())
            let presences = [
                try await backend.presence("a", "here", timeToLive: .seconds(60)),
                try await other.presence("b", "here", timeToLive: .seconds(60)),
            ]
            let number = try #require(try await mark(fixture))
            #expect(isWrittenOnce(number))
            #expect(backend.follower.latest?.history.hasSuffix("." + String(decoding: number.value, as: UTF8.self)) == true)
            for presence in presences { try await presence?.end() }
        }
    }

    extension Array {
        fileprivate func asyncMap<Mapped>(_ transform: (Element) async throws -> Mapped) async rethrows -> [Mapped] {
            var mapped: [Mapped] = []
            for element in self { mapped.append(try await transform(element)) }
            return mapped
        }
    }
#endif
