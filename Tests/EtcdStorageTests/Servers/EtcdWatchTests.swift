#if os(macOS) || os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("A watch of etcd", .needsEtcd, .timeLimit(.minutes(10))) struct EtcdWatchTests {
        private let keys = EntryKeys(prefix: "\(UUID())")

        private func key(_ name: String) -> [UInt8] {
            keys.start + name.utf8
        }

        private func call<Request: EtcdRequest>(
            _ request: Request, to cluster: EtcdCluster, member: Int = 0, token: String? = nil
        ) async throws -> Request.Response {
            try await EtcdCall.send(request, to: cluster.ports[member], token: token)
        }

        @discardableResult
        private func put(_ names: [String], in cluster: EtcdCluster, member: Int = 0, token: String? = nil) async throws -> Int64 {
            let puts = names.map { TxnRequest.Operation.put(key: key($0), value: []) }
            return try await call(TxnRequest(success: puts), to: cluster, member: member, token: token).header.revision
        }

        private func names(_ events: [WatchEvent]) -> [String] {
            events.map { String(decoding: $0.keyValue.key.dropFirst(keys.start.count), as: UTF8.self) }
        }

        @Test("Without a snapshot the first step is everything, then events follow")
        func reset() async throws {
            let cluster = try await EtcdCluster.shared()
            let revision = try await put(["a", "b"], in: cluster)
            let watch = try RunningWatch(.patient(ports: cluster.ports), keys: keys)
            let snapshot = try #require(await watch.nextReset())
            #expect(snapshot.keyValues.map(\.key) == [key("a"), key("b")])
            #expect(snapshot.revision >= revision)
            await watch.untilConnected()
            let next = try await put(["c"], in: cluster)
            let events = try #require(await watch.nextEvents())
            #expect(events.revision == next)
            #expect(names(events.events) == ["c"])
        }

        @Test("A snapshot of several pages, which grow while keys are small, is that of one revision")
        func pages() async throws {
            let cluster = try await EtcdCluster.shared()
            for part in 0..<3 { try await put((0..<100).map { "key\(part * 100 + $0)" }, in: cluster) }
            let client = try EtcdClient.patient(ports: cluster.ports)
            let expected: KeyValuePairs = [1: [1, 8, 64, 227], 7: [7, 56, 237], 299: [299, 1], 300: [300], 301: [300]]
            for (size, counts) in expected {
                var pages: [(snapshot: EtcdSnapshot, page: ArraySlice<KeyValue>)] = []
                let snapshot = try await client.snapshot(
                    from: keys.rangeStart, to: keys.rangeEnd, pageSize: Int64(size), pageTimeout: .seconds(30)
                ) { snapshot, page, _ in pages.append((snapshot, page)) }
                #expect(pages.map(\.page.count) == counts)
                #expect(pages.flatMap(\.page) == snapshot.keyValues)
                #expect(pages.allSatisfy { $0.snapshot.revision == snapshot.revision })
                #expect(pages.map { $0.page.startIndex == 0 } == pages.indices.map { $0 == 0 })
                #expect(snapshot.keyValues.count == 300)
                #expect(Set(snapshot.keyValues.map(\.key)).count == 300)
            }
        }

        @Test("A revision with 100 keys, and one whose events come in fragments, is one step")
        func wholeRevisions() async throws {
            let cluster = try await EtcdCluster.shared()
            let watch = try RunningWatch(.patient(ports: cluster.ports), keys: keys)
            await watch.untilConnected()
            let names = (0..<100).map { "key\($0)" }
            let revision = try await put(names, in: cluster)
            let events = try #require(await watch.nextEvents())
            #expect(events.revision == revision)
            #expect(self.names(events.events) == names)
            // Events of 3 MB, whereas fragments have 2 MB at most.
            let long = String(repeating: "x", count: 10_000)
            for part in 0..<3 { try await put((0..<100).map { "\(long)\(part * 100 + $0)" }, in: cluster) }
            for _ in 0..<3 { #expect(await watch.nextEvents()?.events.count == 100) }
            let deletion = try await call(DeleteRangeRequest(key: keys.rangeStart, rangeEnd: keys.rangeEnd), to: cluster).header.revision
            let deleted = try #require(await watch.nextEvents())
            #expect(deleted.revision == deletion)
            #expect(deleted.events.count { $0.isDelete } == 400)
        }

        @Test("The pages of a snapshot grow up to a 128th of the largest response")
        func growingPages() async throws {
            let cluster = try await EtcdCluster.shared()
            for part in 0..<3 { try await put((0..<100).map { "key\(part * 100 + $0)" }, in: cluster) }
            let whole = try await EtcdClient.patient(ports: cluster.ports)
                .snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(30))
            // Twenty of the keys fit, and their messages have no more than 120 bytes each.
            let configuration = EtcdConfiguration(endpoints: cluster.endpoints, prefix: "", requestTimeout: .seconds(30))
            let client = try EtcdClient(configuration, largestResponse: 128 * 20 * 120)
            var sizes: [Int] = []
            let snapshot = try await client.snapshot(
                from: keys.rangeStart, to: keys.rangeEnd, pageSize: 10, pageTimeout: .seconds(30)
            ) { _, page, _ in sizes.append(page.count) }
            #expect(snapshot.keyValues == whole.keyValues)
            #expect(sizes.first == 10)
            #expect(sizes.dropFirst().dropLast().allSatisfy { 20..<80 ~= $0 }, "\(sizes)")
        }

        @Test("A snapshot has smaller pages from where its values are too large for a response on")
        func largeValues() async throws {
            let cluster = try await EtcdCluster.shared()
            // The pages do not grow with either.
            for (letter, count, size) in [("a", 50, 100), ("b", 20, 10_000)] {
                for number in 0..<count {
                    let request = PutRequest(key: key("\(letter)\(number)"), value: Array(repeating: UInt8(number), count: size))
                    _ = try await call(request, to: cluster)
                }
            }
            let configuration = EtcdConfiguration(endpoints: cluster.endpoints, prefix: "", requestTimeout: .seconds(30))
            let client = try EtcdClient(configuration, largestResponse: 50_000)
            var sizes: [Int] = []
            let snapshot = try await client.snapshot(
                from: keys.rangeStart, to: keys.rangeEnd, pageSize: 32, pageTimeout: .seconds(30)
            ) { _, page, _ in sizes.append(page.count) }
            #expect(sizes == [32] + Array(repeating: 4, count: 9) + [2])
            let whole = try await EtcdClient.patient(ports: cluster.ports)
                .snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(30))
            #expect(snapshot.keyValues == whole.keyValues)
        }

        @Test("A value that is too large for a response by itself is an error at once")
        func tooLargeValue() async throws {
            let cluster = try await EtcdCluster.shared()
            _ = try await call(PutRequest(key: key("a"), value: Array(repeating: 1, count: 10_000)), to: cluster)
            let client = try EtcdClient(EtcdConfiguration(endpoints: cluster.endpoints, prefix: ""), largestResponse: 5_000)
            let error = await #expect(throws: ConnectionError.self) {
                _ = try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(3_600))
            }
            #expect(error?.reason == .responseTooLarge)
        }

        @Test("Events follow in order when the only server is killed and started again", .servers(1))
        func restart() async throws {
            let cluster = try await EtcdCluster.start()
            let watch = try RunningWatch(.patient(ports: cluster.ports), keys: keys)
            await watch.untilConnected()
            for round in 0..<3 {
                let first = try await put(["before\(round)"], in: cluster)
                try await cluster.kill(0)
                try await cluster.restart(0)
                let second = try await put(["after\(round)"], in: cluster)
                #expect(await watch.nextEvents()?.revision == first)
                #expect(await watch.nextEvents()?.revision == second)
            }
        }

        @Test("If the history was compacted while the watch was away, everything is read anew", .servers(1))
        func compaction() async throws {
            let cluster = try await EtcdCluster.start()
            let client = try EtcdClient.patient(ports: cluster.ports)
            try await put(["a"], in: cluster)
            let old = try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(30))
            try await put(["b"], in: cluster)
            let revision = try await put(["c"], in: cluster)
            _ = try await call(CompactionRequest(revision: revision), to: cluster)
            let watch = RunningWatch(client, keys: keys, after: old)
            let snapshot = try #require(await watch.nextReset())
            #expect(snapshot.keyValues.map(\.key) == [key("a"), key("b"), key("c")])
            let next = try await put(["d"], in: cluster)
            #expect(await watch.nextEvents()?.revision == next)
        }

        @Test("If the next revision, a removal, is the last compacted one, everything is read anew: etcd omits the removal", .servers(1))
        func compactedRemoval() async throws {
            let cluster = try await EtcdCluster.start()
            let client = try EtcdClient.patient(ports: cluster.ports)
            try await put(["a", "b"], in: cluster)
            let old = try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(30))
            let removal = try await call(DeleteRangeRequest(key: key("a")), to: cluster).header.revision
            #expect(removal == old.revision + 1)
            try await put(["c"], in: cluster)
            _ = try await call(CompactionRequest(revision: removal), to: cluster)
            let watch = RunningWatch(client, keys: keys, after: old)
            while let step = await watch.next() {
                if case .events(let revision, let events) = step {
                    Issue.record("\(names(events)) at \(revision), after the removal at \(removal)")
                    return
                }
                guard case .reset(let snapshot) = step else { continue }
                #expect(snapshot.keyValues.map(\.key) == [key("b"), key("c")])
                break
            }
            let next = try await put(["d"], in: cluster)
            #expect(await watch.nextEvents()?.revision == next)
        }

        @Test("If the delivered revision is the last compacted one, the watch goes on", .servers(1))
        func compactedDelivered() async throws {
            let cluster = try await EtcdCluster.start()
            let client = try EtcdClient.patient(ports: cluster.ports)
            try await put(["a"], in: cluster)
            let old = try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: .seconds(30))
            let removal = try await call(DeleteRangeRequest(key: key("a")), to: cluster).header.revision
            _ = try await call(CompactionRequest(revision: old.revision), to: cluster)
            let watch = RunningWatch(client, keys: keys, after: old)
            await watch.untilConnected()
            guard case .events(removal, _) = await watch.next() else { return #expect(Bool(false), "something else than the removal") }
        }

        @Test(
            "A backup of the same cluster that was restored is noticed, whether or not it has gone on since", .servers(2),
            arguments: [0, 5])
        func restoredBackup(changes: Int) async throws {
            let cluster = try await EtcdCluster.start()
            let (data, backup) = ("\(cluster.folder)/member0", "\(cluster.folder)/backup")
            try await put(["a"], in: cluster)
            try await cluster.kill(0)
            try FileManager.default.copyItem(atPath: data, toPath: backup)
            try await cluster.restart(0)
            var timing = EtcdWatch.Timing.patient
            (timing.comparison, timing.suspicion) = (.milliseconds(500), .milliseconds(500))
            let watch = try RunningWatch(.patient(ports: cluster.ports), keys: keys, timing: timing)
            await watch.untilConnected()
            for name in ["b", "c", "d"] { try await put([name], in: cluster) }
            // They may be read, on a machine that is so busy that a comparison finds them first.
            var delivered: Set<[UInt8]> = []
            while !delivered.contains(key("d")), let step = await watch.next() {
                switch step {
                case .events(_, let events): delivered.formUnion(events.map(\.keyValue.key))
                case .reset(let snapshot): delivered.formUnion(snapshot.keyValues.map(\.key))
                default: break
                }
            }
            try await cluster.kill(0)
            try FileManager.default.removeItem(atPath: data)
            try FileManager.default.moveItem(atPath: backup, toPath: data)
            try await cluster.restart(0)
            for number in 0..<changes { try await put(["after\(number)"], in: cluster) }
            var snapshot = try #require(await watch.nextReset())
            while snapshot.keyValues.map(\.key).contains(key("b")) { snapshot = try #require(await watch.nextReset()) }
            #expect(names(snapshot.keyValues.map { WatchEvent(keyValue: $0) }).first == "a")
            let revision = try await put(["z"], in: cluster)
            while let (delivered, _) = await watch.nextEvents(), delivered < revision {}
        }

        @Test("Comparisons find no loss while keys are written, deleted and written again")
        func comparisons() async throws {
            let cluster = try await EtcdCluster.shared()
            var timing = EtcdWatch.Timing.patient
            (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(5), .milliseconds(20), .seconds(300))
            let watch = try RunningWatch(.patient(ports: cluster.ports), keys: keys, timing: timing)
            await watch.untilConnected()
            var revisions: [Int64] = []
            for number in 0..<200 {
                revisions.append(try await put(["key\(number % 7)"], in: cluster))
                guard number.isMultiple(of: 3) else { continue }
                revisions.append(try await call(DeleteRangeRequest(key: key("key\(number % 7)")), to: cluster).header.revision)
            }
            var delivered: [Int64] = []
            while delivered.count < revisions.count, let step = await watch.next() {
                guard case .events(let revision, _) = step else {
                    Issue.record("\(step) after \(delivered.count) revisions")
                    break
                }
                delivered.append(revision)
            }
            #expect(delivered == revisions)
        }

        @Test("A token that the server does not know any more is replaced", .servers(1))
        func token() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            let watch = try RunningWatch(.patient(ports: cluster.ports, password: "secret"), keys: keys)
            await watch.untilConnected()
            // Tokens are kept in memory.
            try await cluster.restart(0)
            let token = try await call(AuthenticateRequest(user: "root", password: "secret"), to: cluster).token
            let revision = try await put(["a"], in: cluster, token: token)
            #expect(await watch.nextEvents()?.revision == revision)
        }

        @Test("None of 10,000 events is missed or repeated while the member of the watch is killed and started again", .servers(3))
        func manyEvents() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let leader = try await cluster.leader()
            let followers = (0..<3).filter { $0 != leader }
            let watch = try RunningWatch(.patient(ports: followers.map { cluster.ports[$0] }), keys: keys)
            await watch.untilConnected()
            async let revisions: [Int64] = {
                var revisions: [Int64] = []
                for part in 0..<500 {
                    let names = (0..<20).map { "key\(part * 20 + $0)" }
                    revisions.append(try await put(names, in: cluster, member: leader))
                }
                return revisions
            }()
            var received: [Int64] = []
            var names: [String] = []
            while received.count < 500, let (revision, events) = await watch.nextEvents() {
                received.append(revision)
                names += self.names(events)
                if received.count.isMultiple(of: 150) { try await cluster.restart(followers[received.count / 150 % 2]) }
            }
            #expect(try await received == revisions)
            #expect(names == (0..<10_000).map { "key\($0)" })
        }

        @Test("When the member of the watch is suspended, another one serves", .servers(3))
        func suspendedMember() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let leader = try await cluster.leader()
            var timing = EtcdWatch.Timing.patient
            // Whichever member is too slow on a busy machine is tried again.
            (timing.silence, timing.response) = (.milliseconds(800), .seconds(10))
            // The leader is suspended, so that the others elect one meanwhile.
            let ports = [leader] + (0..<3).filter { $0 != leader }
            let watch = try RunningWatch(.patient(ports: ports.map { cluster.ports[$0] }), keys: keys, timing: timing)
            await watch.untilConnected()
            cluster.suspend(leader)
            let next = try await cluster.leader(ignoring: [leader])
            let revision = try await put(["a"], in: cluster, member: next)
            #expect(await watch.nextEvents()?.revision == revision)
            cluster.resume(leader)
            let later = try await put(["b"], in: cluster, member: next)
            #expect(await watch.nextEvents()?.revision == later)
        }

        @Test("A member that has lost the others is given up, although it answers", .servers(3))
        func isolatedMember() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let leader = try await cluster.leader()
            let watch = try RunningWatch(.patient(ports: [cluster.ports[leader]]), keys: keys)
            await watch.untilConnected()
            let others = (0..<3).filter { $0 != leader }
            for member in others { cluster.suspend(member) }
            let error = await watch.untilDisconnected()
            #expect((error as? EtcdFailure)?.isUnavailable == true)
            for member in others { cluster.resume(member) }
            await watch.untilConnected()
            let revision = try await put(["a"], in: cluster, member: try await cluster.leader())
            #expect(await watch.nextEvents()?.revision == revision)
        }
    }
#endif
