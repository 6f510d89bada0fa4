#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Transactions that nobody answers", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdUnknownOutcomeTests {
        @Test("It is found out whether one has taken effect, and one that has not cannot do so later", arguments: [true, false])
        func settled(arrivesBefore: Bool) async throws {
            let fixture = try await EtcdFixture()
            let client = try fixture.client()
            let follower = EtcdFollower(client, fixture.keys, named: "etcd", timing: .patient)
            follower.start()
            defer { follower.stop() }
            let view = try await follower.current(until: .now + .seconds(60))

            // A member that receives the request, and closes the connection. It is sent again until that is refused.
            let requests = Recorder<[UInt8]>()
            let silent = try GRPCServer { call in
                guard let request = call.receive() else { return }
                requests.record(request)
                if requests.elements.count == 1 { call.closeConnection() } else { call.end(7, "etcdserver: permission denied") }
            }
            let grant = LeaseRequest.grant(timeToLive: 600)
            let lease = try await client.call(grant, deadline: .now + .seconds(60)).lease
            var transaction = EtcdTransaction(follower)
            transaction.client = try fixture.client(of: silent.endpoint.description)
            transaction.lease = (lease, .now + .seconds(300))
            var entries = view.entries.stored(at: view.entries.revision)
            (entries.readKeys, transaction.identity) = ([], 7)
            entries["a"] = 1
            let error = await #expect(throws: StorageError.self) {
                _ = try await transaction.commit(entries, over: view.entries)
            }
            if case .outcomeUnknown = error {} else { Issue.record("\(error as Any)") }
            #expect(transaction.unknown != nil)

            // It comes to etcd late.
            let late = try #require(requests.elements.first)
            func arrive() async throws -> Bool {
                try await EtcdCall.send(late, as: TxnRequest(), to: fixture.cluster.ports[0]).succeeded
            }
            if arrivesBefore { #expect(try await arrive()) }
            transaction.client = client
            try await transaction.resolve()
            let revision = transaction.effect?.revision
            #expect((revision != nil) == arrivesBefore)
            if !arrivesBefore { #expect(try await !arrive()) }
            let stored = try await fixture.stored()
            #expect((stored["a"] != nil) == arrivesBefore)
            #expect(transaction.unknown == nil)
            // The token can be used again. The number of the history was stored with it.
            await follower.wait(until: .distant) { $0.view.revision >= revision ?? 0 }
            transaction.identity = 8
            let later = try await transaction.commit(entries, over: view.entries)
            #expect(later?["a"] == 1)
        }

        @Test("One that took effect, although its first request had no response, is recognized by the next one and made once")
        func repeatedRequest() async throws {
            let fixture = try await EtcdFixture()
            let client = try fixture.client()
            let follower = EtcdFollower(client, fixture.keys, named: "etcd", timing: .patient)
            follower.start()
            defer { follower.stop() }
            let view = try await follower.current(until: .now + .seconds(60))
            let (endpoint, requests) = try GRPCServer.forwarding(to: fixture.cluster.ports[0], losing: 1)
            var transaction = EtcdTransaction(follower)
            let grant = LeaseRequest.grant(timeToLive: 600)
            transaction.lease = (try await client.call(grant, deadline: .now + .seconds(60)).lease, .now + .seconds(300))
            transaction.client = try fixture.client(of: endpoint)
            var entries = view.entries.stored(at: view.entries.revision)
            entries.readKeys = ["a"]
            entries["a"] = 1
            #expect(try await transaction.commit(entries, over: view.entries)?["a"] == 1)
            #expect(requests.elements.count == 2)
        }

        @Test("What others write while one gets its lease, the first one or another, is known when it is sent", arguments: [false, true])
        func writtenWhileLeaseIsGranted(isLost: Bool) async throws {
            let fixture = try await EtcdFixture()
            let follower = EtcdFollower(try fixture.client(), fixture.keys, named: "etcd", timing: .patient)
            follower.start()
            defer { follower.stop() }
            let view = try await follower.current(until: .now + .seconds(60))
            // Another process identifies the history.
            let (endpoint, requests) = try GRPCServer.forwarding(
                to: fixture.cluster.ports[0], losing: 0,
                willGrant: {
                    try await fixture.put("\0history", Array("7".utf8))
                    await follower.wait(until: .distant) { $0.historyWrite == nil }
                })
            var transaction = EtcdTransaction(follower)
            transaction.client = try fixture.client(of: endpoint)
            if isLost { transaction.lease = (1, .now + .seconds(300)) }
            var entries = view.entries.stored(at: view.entries.revision)
            entries.readKeys = []
            entries["a"] = 1
            #expect(try await transaction.commit(entries, over: view.entries)?["a"] == 1)
            #expect(requests.elements.count == (isLost ? 2 : 1))
        }

        @Test("One whose response was lost is made once, although an earlier mark of the same transaction arrives in between, once more")
        func lateMark() async throws {
            let fixture = try await EtcdFixture()
            let client = try fixture.client()
            let follower = EtcdFollower(client, fixture.keys, named: "etcd", timing: .patient)
            follower.start()
            defer { follower.stop() }
            let view = try await follower.current(until: .now + .seconds(60))
            let port = fixture.cluster.ports[0]
            let (endpoint, _) = try GRPCServer.forwarding(to: port, losing: 2) { call, transactions in
                _ = try await EtcdCall.send(transactions[0], as: TxnRequest(), to: port)
                call.closeConnection()
            }
            var transaction = EtcdTransaction(follower)
            transaction.client = try fixture.client(of: endpoint)
            _ = try await transaction.mark()
            var entries = view.entries.stored(at: view.entries.revision)
            entries.readKeys = []
            entries["a"] = 1
            #expect(try await transaction.commit(entries, over: view.entries)?["a"] == 1)
            let range = RangeRequest(key: fixture.keys.start + "a".utf8)
            #expect(try await client.call(range, deadline: .now + .seconds(60)).details?.version == 1)
        }
    }
#endif
