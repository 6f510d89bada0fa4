#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Presence in etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdPresenceTests {
        private static let key = StorageKey<String?>("workers/7")

        /// The key of the entry, as etcd has it; nil if there is none.
        private func keyValue(_ fixture: EtcdFixture) async throws -> KeyValue? {
            let range = RangeRequest(key: fixture.keys.start + "workers/7".utf8)
            return try await fixture.client().call(range, deadline: .now + .seconds(60)).keyValues.first
        }

        /// The lease of the key; 0 if it has none.
        private func storedLease(_ fixture: EtcdFixture) async throws -> Int64 {
            let range = RangeRequest(key: fixture.keys.start + "workers/7".utf8)
            return try #require(try await fixture.client().call(range, deadline: .now + .seconds(60)).details).lease
        }

        /// - Parameter renewals: how often a lease is renewed during its time to live.
        private func follower(
            of server: GRPCServer, requestTimeout: Duration = .seconds(300), renewals: Int = 3
        ) throws -> EtcdFollower {
            let configuration = EtcdConfiguration(
                endpoints: [server.endpoint.description], prefix: "", requestTimeout: requestTimeout, connectTimeout: requestTimeout)
            var timing = EtcdWatch.Timing()
            timing.renewals = renewals
            return EtcdFollower(try EtcdClient(configuration), EntryKeys(prefix: ""), named: "etcd", timing: timing)
        }

        /// A lease as a member grants or renews it.
        private static func lease(_ lease: Int64 = 7, timeToLive: Int64 = 60) -> LeaseRequest.Response {
            LeaseRequest.Response(header: ResponseHeader(clusterID: 7), lease: lease, timeToLive: timeToLive)
        }

        private func revoke(_ lease: Int64, _ fixture: EtcdFixture) async throws {
            let revoke = LeaseRequest.revoke(lease)
            _ = try await fixture.client().call(revoke, deadline: .now + .seconds(60))
        }

        @Test("A time to live is rounded up to whole seconds, of which there is one at least")
        func wholeSeconds() throws {
            let client = try EtcdClient(EtcdConfiguration(endpoints: ["127.0.0.1:1"], prefix: ""))
            let follower = EtcdFollower(client, EntryKeys(prefix: ""), named: "etcd")
            let durations: [(Duration, Int64)] = [
                (.zero, 1), (.milliseconds(1), 1), (.seconds(2), 2), (.milliseconds(2_001), 3), (.seconds(-1), 1),
            ]
            for (duration, seconds) in durations {
                #expect(EtcdPresence("a", key: [1], value: [1], timeToLive: duration, follower).timeToLive == seconds)
            }
        }

        @Test("A presence whose lease was revoked by a request without a response has ended")
        func revokedWithoutResponse() async throws {
            let requests = Recorder<[UInt8]>()
            let server = try GRPCServer { call in
                guard let request = call.receive() else { return }
                requests.record(request)
                if requests.elements.count == 1 { call.closeConnection() } else { call.end(5, "etcdserver: requested lease not found") }
            }
            let follower = try follower(of: server)
            let presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
            #expect(try await presence.end() == nil)
            #expect(requests.elements.count == 2)
        }

        @Test(
            "A presence whose first request has no response replaces what was stored before it took effect, and nothing later",
            arguments: [(true, true), (true, false), (false, true)], [[7], nil] as [[UInt8]?])
        func storedWithoutResponse(first: (isReplacing: Bool, arrives: Bool), other: [UInt8]?) async throws {
            let fixture = try await EtcdFixture()
            let (isReplacing, arrives) = first
            let write = { @Sendable in
                if let other { try await fixture.put("workers/7", other) } else { try await fixture.delete("workers/7") }
            }
            if isReplacing { try await fixture.put("workers/7", [6]) }
            // While another process writes the entry.
            let (endpoint, requests) = try GRPCServer.forwarding(to: fixture.cluster.ports[0], losing: 1, arrives: arrives) { call, _ in
                try await write()
                call.closeConnection()
            }
            let follower = try EtcdFollower(fixture.client(of: endpoint), fixture.keys, named: "etcd")
            var presence = EtcdPresence(
                "workers/7", key: fixture.keys.start + "workers/7".utf8, value: [1], timeToLive: .seconds(600), follower)
            try await presence.store(isReplacing: isReplacing)
            #expect(requests.elements.count == 2)
            #expect(try await keyValue(fixture)?.value == (arrives ? other : [1]))
            #expect(try await (keyValue(fixture)?.modRevision == presence.revision) == !arrives)

            // The first request arrives late, or once more.
            try await write()
            _ = try await EtcdCall.send(try #require(requests.elements.first), as: TxnRequest(), to: fixture.cluster.ports[0])
            #expect(try await keyValue(fixture)?.value == other)
            _ = try await presence.end()
            #expect(try await keyValue(fixture)?.value == other)
        }

        @Test("A request to store that no member has taken leaves no doubt about what is stored")
        func notTaken() async throws {
            try await withEnoughTime { time in
                let isRefused = Lock(false)
                let server = try GRPCServer { call in
                    guard call.receive() != nil else { return }
                    guard call.path == TxnRequest().path else {
                        return call.respond(Self.lease().message)
                    }
                    isRefused.exchange(true)
                    call.reset(HTTP2ErrorCode.refusedStream)
                }
                let follower = try follower(of: server, requestTimeout: time)
                var presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
                do {
                    try await presence.store(isReplacing: true)
                    Issue.record("stored")
                } catch let unavailable as EtcdUnavailable {
                    // On a busy machine, the time may be over before.
                    guard isRefused.withLock({ $0 }), !unavailable.mayHaveArrived else { return false }
                }
                #expect(!presence.isUncertain)
                return true
            }
        }

        @Test("An entry that no member has taken is stored when its lease is renewed, once")
        func storedAtRenewal() async throws {
            try await withEnoughTime { time in
                let isServing = Lock(false)
                let isRefused = Lock(false)
                // Whether each is a request to store, and not one to renew the lease.
                let (requests, request) = AsyncStream<Bool>.makeStream()
                let server = try GRPCServer { call in
                    guard call.receive() != nil else { return }
                    let isStoring = call.path == TxnRequest().path
                    if isServing.withLock({ $0 }) {
                        request.yield(isStoring)
                    } else if isStoring {
                        isRefused.exchange(true)
                        return call.reset(HTTP2ErrorCode.refusedStream)
                    }
                    let header = ResponseHeader(clusterID: 7, revision: 5)
                    call.respond(
                        isStoring
                            ? TxnRequest.Response(header: header, succeeded: true).message
                            : Self.lease().message)
                }
                let follower = try follower(of: server, requestTimeout: time, renewals: 600)
                var presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
                do {
                    try await presence.store(isReplacing: false)
                    Issue.record("stored")
                } catch let unavailable as EtcdUnavailable {
                    // On a busy machine, the time may be over before.
                    guard isRefused.withLock({ $0 }), !unavailable.mayHaveArrived else { return false }
                }
                isServing.exchange(true)
                let keeping = Task { [presence] in
                    var presence = presence
                    await presence.keep { Issue.record($0) }
                    return presence
                }
                // A renewal may take too long, and is repeated then.
                var (renewals, stores, later) = (0, 0, 0)
                for await isStoring in requests {
                    if isStoring { stores += 1 } else { renewals += 1 }
                    // A second one would follow the first renewal.
                    if stores > 0 && !isStoring { later += 1 }
                    if later == 2 || renewals == 100 { break }
                }
                keeping.cancel()
                #expect(stores > 0)
                let isStored = await keeping.value.revision == 5
                return isStored && stores == 1
            }
        }

        @Test(
            "A lease without a number or a time to live is an error: the entry would stay for ever, or be renewed without pause",
            arguments: [lease(0, timeToLive: 0), lease(timeToLive: 0), lease(0), lease(timeToLive: -1)])
        func noLease(_ granted: LeaseRequest.Response) async throws {
            let requests = Recorder<String>()
            let server = try GRPCServer { call in
                guard call.receive() != nil else { return }
                requests.record(call.path)
                call.respond(call.path == TxnRequest().path ? TxnRequest.Response(succeeded: true).message : granted.message)
            }
            let follower = try follower(of: server)
            var presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
            await #expect(throws: EtcdFailure.self) { try await presence.store(isReplacing: true) }
            var transaction = EtcdTransaction(follower)
            await #expect(throws: EtcdFailure.self) { _ = try await transaction.mark() }
            #expect(!requests.elements.contains(TxnRequest().path))
        }

        @Test("A lease may be granted for the longest time, and is renewed daily then")
        func longestLease() async throws {
            let server = try GRPCServer { call in
                guard call.receive() != nil else { return }
                let stored = TxnRequest.Response(header: ResponseHeader(clusterID: 7, revision: 5), succeeded: true).message
                call.respond(call.path == TxnRequest().path ? stored : Self.lease(timeToLive: .max).message)
            }
            let follower = try follower(of: server, renewals: 1)
            var presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
            try await presence.store(isReplacing: true)
            #expect(presence.interval == .seconds(86_400))
        }

        @Test("A lease that may have been granted without a response has no effect on what is stored: the last error is thrown")
        func leaseWithoutResponse() async throws {
            let requests = Recorder<String>()
            let server = try GRPCServer { call in
                guard call.receive() != nil else { return }
                requests.record(call.path)
                if requests.elements.count % 2 == 1 { call.closeConnection() } else { call.end(7, "etcdserver: permission denied") }
            }
            let follower = try follower(of: server)
            var presence = EtcdPresence("a", key: [1], value: [1], timeToLive: .seconds(60), follower)
            var transaction = EtcdTransaction(follower)
            let errors = [
                await #expect(throws: EtcdFailure.self) { try await presence.store(isReplacing: true) },
                await #expect(throws: EtcdFailure.self) { _ = try await transaction.mark() },
            ]
            #expect(errors.map { $0?.isPermissionDenied } == [true, true])
            #expect(!presence.isUncertain && !requests.elements.contains(TxnRequest().path))
        }

        @Test("A lease to which no member responds in time has no effect on what is stored")
        func silentLease() async throws {
            try await withEnoughTime { time in
                let isRequested = Lock(false)
                let server = try GRPCServer { call in
                    guard call.receive() != nil else { return }
                    isRequested.exchange(true)
                    call.closeConnection()
                }
                var presence = EtcdPresence(
                    "a", key: [1], value: [1], timeToLive: .seconds(60), try follower(of: server, requestTimeout: time))
                let error = await #expect(throws: EtcdUnavailable.self) { try await presence.store(isReplacing: true) }
                #expect(error?.mayHaveArrived == false)
                // On a busy machine, the time may be over before.
                return isRequested.withLock { $0 }
            }
        }

        @Test("The end of the history is found with another lease if the last one was revoked")
        func revokedLease() async throws {
            let requests = Recorder<String>()
            let server = try GRPCServer { call in
                guard call.receive() != nil else { return }
                requests.record(call.path)
                if call.path != TxnRequest().path { return call.respond(Self.lease().message) }
                let isFirst = requests.elements.count { $0 == TxnRequest().path } == 1
                if isFirst { return call.end(5, "etcdserver: requested lease not found") }
                let header = ResponseHeader(clusterID: 7, revision: 9)
                call.respond(TxnRequest.Response(header: header, succeeded: true, ranges: [[], nil]).message)
            }
            let follower = try follower(of: server)
            var transaction = EtcdTransaction(follower)
            #expect(try await transaction.mark().revision == 9)
            #expect(requests.elements.count == 4)
        }

        @Test("A presence that ends while it is stored again has ended after the replica has come to its end, not to an earlier removal")
        func storedAgainAtEnd() async throws {
            let fixture = try await EtcdFixture()
            let (isStored, stored) = AsyncStream<Void>.makeStream()
            let (endpoint, _) = try GRPCServer.forwarding(to: fixture.cluster.ports[0], losing: 2) { _, _ in stored.yield() }
            let key = fixture.keys.start + "workers/7".utf8
            var timing = EtcdWatch.Timing()
            timing.renewals = 6_000
            let follower = try EtcdFollower(fixture.client(of: endpoint), fixture.keys, named: "etcd", timing: timing)
            var presence = EtcdPresence(
                "workers/7", key: key, value: try ("here" as PropertyListValue).etcdBytes(for: "workers/7"), timeToLive: .seconds(600),
                follower)
            try await presence.store(isReplacing: true)
            try await revoke(try await storedLease(fixture), fixture)
            let keeping = Task { [presence] in
                var presence = presence
                await presence.keep { Issue.record($0) }
                return presence
            }
            for await _ in isStored { break }
            keeping.cancel()
            let first = presence.revision
            presence = await keeping.value
            #expect(presence.isUncertain && presence.revision == first)
            let second = try #require(try await keyValue(fixture)).modRevision
            let end = try #require(try await presence.end())
            #expect(end > second)

            let snapshot = EtcdSnapshot(
                clusterID: 7, revision: first, keyValues: [KeyValue(key: key, createRevision: first, modRevision: first)])
            var replica = EtcdReplica(of: snapshot, fixture.keys, named: "etcd")
            #expect(!presence.hasEnded(at: end, in: replica))
            for (revision, isDelete) in [(first + 1, true), (second, false), (end, true)] {
                let event = WatchEvent(isDelete: isDelete, keyValue: KeyValue(key: key, createRevision: revision, modRevision: revision))
                _ = replica.apply([event], at: revision)
                #expect(presence.hasEnded(at: end, in: replica) == (revision == end))
                // If the response had arrived.
                (presence.revision, presence.isUncertain) = (second, false)
                #expect(presence.hasEnded(at: end, in: replica) == (revision == end))
                #expect(presence.hasEnded(at: nil, in: replica) == (revision == end))
                (presence.revision, presence.isUncertain) = (first, true)
            }
            // What was written last is outside of the replica.
            #expect(!presence.hasEnded(at: end + 1, in: replica))
            (presence.revision, presence.isUncertain) = (second, false)
            #expect(presence.hasEnded(at: end + 1, in: replica))
        }

        @Test("Every store sees the entry until the presence ends, or is released; its own store at once")
        func ended() async throws {
            let fixture = try await EtcdFixture()
            let (store, other) = (
                try await ObservableStore.open(fixture.backend()), try await ObservableStore.open(fixture.backend())
            )
            var values = other.values(of: Self.key).makeAsyncIterator()
            #expect(await values.next() == .some(nil))
            for isReleased in [false, true] {
                var presence: Presence? = try await store.presence("workers/7", "here", timeToLive: .seconds(60))
                #expect(await values.next() == "here")
                #expect(try await storedLease(fixture) != 0)
                if !isReleased { try await presence?.end() }
                presence = nil
                #expect(await values.next() == .some(nil))
                #expect(try await keyValue(fixture) == nil)
            }
            try await store.close()
            try await other.close()
        }

        @Test("When storing or removing an entry returns, the backend has received its event")
        func own() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let presence = try #require(try await backend.presence("workers/7", "here", timeToLive: .seconds(60)))
            #expect(backend.follower.latest?.entries["workers/7"] == "here")
            try await presence.end()
            #expect(backend.follower.latest?.entries["workers/7"] == nil)
        }

        @Test("A task that is cancelled can end its presence, as that of a service that stops")
        func cancelled() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let presence = try #require(try await backend.presence("workers/7", "here", timeToLive: .seconds(60)))
            let ending = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await presence.end()
            }
            try await ending.value
            #expect(try await keyValue(fixture) == nil)
        }

        @Test("The entry of a process that is killed is removed after its time to live, which all stores report")
        func killed() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend())
            let worker = StorageKey<String?>("workers/7")
            var values = store.values(of: worker).makeAsyncIterator()
            let peer = try RunningProgram(
                "Peer", ["etcd-presence", fixture.cluster.endpoints.joined(separator: ","), fixture.prefix, worker.name, "host"])
            while let value = await values.next(), value != "host" {}
            peer.signal(SIGKILL)
            _ = try await peer.status
            while let value = await values.next(), value != nil {}
            #expect(store[worker] == nil)
            try await store.close()
        }

        @Test("An entry is stored again when only its lease is renewed, with what identifies the history")
        func storedAgain() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend(renewals: 6_000)
            _ = try await backend.load()
            let follower = backend.follower
            var presence = EtcdPresence("a", key: fixture.keys.start + "workers/7".utf8, value: [1], timeToLive: .seconds(600), follower)
            try await presence.store(isReplacing: true)
            // As if the request had not arrived: without the entry and its receipt.
            (presence.isUncertain, presence.isStored) = (true, false)
            let lease = try await storedLease(fixture)
            for name in ["workers/7", "\0presence/" + String(lease, radix: 16), "\0history"] { try await fixture.delete(name) }
            await follower.wait(until: .distant) { $0.historyWrite != nil && $0.revisions.modRevision(of: "workers/7") == nil }
            let keeping = Task { [presence] in
                var presence = presence
                await presence.keep { Issue.record($0) }
            }
            while try await keyValue(fixture) == nil {}
            let history = RangeRequest(key: fixture.keys.history)
            #expect(try await fixture.client().call(history, deadline: .now + .seconds(60)).keyValues.count == 1)
            keeping.cancel()
            await keeping.value
        }

        @Test("The lease is renewed: its remaining time grows again and again")
        func renewed() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend(renewals: 40)
            let presence = try #require(try await backend.presence("workers/7", "here", timeToLive: .seconds(60)))
            let lease = try await storedLease(fixture)
            // Told in whole seconds, rounded down.
            var (last, renewals) = (Int64.max, 0)
            while renewals < 2 {
                let answer = try await fixture.cluster.call("/v3/lease/timetolive", #"{"ID":"\#(lease)"}"#)
                let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
                // It is left out if it is 0.
                let remaining = Int64(object?["TTL"] as? String ?? "0") ?? 0
                try #require(remaining >= 0, "the lease has expired")
                if remaining > last { renewals += 1 }
                last = remaining
                try await Task.sleep(for: .milliseconds(20))
            }
            try await presence.end()
        }

        @Test("An entry whose lease has expired is stored again")
        func expired() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend(renewals: 6_000))
            // Not the values, of which only the newest is kept: the entry may be back before this task goes on.
            var changes = store.changes(of: Self.key).makeAsyncIterator()
            let presence = try await store.presence("workers/7", "here", timeToLive: .seconds(600))
            #expect(await changes.next()?.newValue == "here")
            try await revoke(try await storedLease(fixture), fixture)
            #expect(try #require(await changes.next()).newValue == nil)
            #expect(await changes.next()?.newValue == "here")
            try await presence.end()
            #expect(try #require(await changes.next()).newValue == nil)
            try await store.close()
        }

        @Test("After its lease has expired, another process's entry is left, and that is reported")
        func replaced() async throws {
            let fixture = try await EtcdFixture()
            let store = try await ObservableStore.open(fixture.backend(renewals: 6_000))
            let failures = store.failures
            let presence = try await store.presence("workers/7", "here", timeToLive: .seconds(600))
            let lease = try await storedLease(fixture)
            // Without a lease, it does not expire with it.
            try await fixture.put("workers/7", ("there" as PropertyListValue).etcdBytes(for: "workers/7"))
            try await revoke(lease, fixture)
            for await failure in failures {
                #expect("\(failure)".contains("the entry is another process's now"))
                break
            }
            try await presence.end()
            #expect(try await storedLease(fixture) == 0)
            try await store.close()
        }

        @Test("A name that can be no key is refused; so is a value that etcd does not take, with its size")
        func refused() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let reason = "a name in etcd may not be empty, nor have a NUL at its beginning or after a slash"
            await #expect(throws: StorageError.unencodable(key: "", reason: reason)) {
                _ = try await backend.presence("", "here", timeToLive: .seconds(60))
            }
            let large = PropertyListValue.data(Data(count: 2_000_000))
            let error = await #expect(throws: StorageError.self) {
                _ = try await backend.presence("a", large, timeToLive: .seconds(60))
            }
            if case .tooLarge = error {} else { Issue.record("\(error as Any)") }
            #expect(try await fixture.stored().isEmpty)
        }
    }
#endif
