#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Histories of processes on etcd", .needsEtcd, .servers(3), .timeLimit(.minutes(10)))
    struct EtcdHistoryTests {
        private static let names = ["peer1", "peer2", "peer3"]

        /// What fails while they write, one after the other.
        private enum Fault: CaseIterable {
            case killedLeader, suspendedLeader, killedFollower, compaction
        }

        @Test(
            "Processes have a consistent history while members fail and the history is compacted, and end with equal values",
            arguments: (0..<(isLong ? 10 : 1)).map { firstSeed + $0 })
        func faults(seed: UInt64) async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let fixture = try await EtcdFixture(cluster)
            let peers = try start(Self.names, steps: 200, beside: ["own"], seed: seed, fixture)
            for peer in peers { _ = try await peer.lines(count: 1) }
            let store = try await ObservableStore.open(fixture.backend())
            let witness = StoreWitness(store)
            for peer in peers { try peer.send("write") }
            var writer = RandomWriter("own", seed: seed, store: store, toleratesFailures: true)
            var generator = SeededGenerator(seed: seed)
            for fault in (0..<(isLong ? 2 : 1)).flatMap({ _ in Fault.allCases.shuffled(using: &generator) }) {
                try await writer.run(steps: 15)
                try await cause(fault, to: cluster) { try await writer.run(steps: 10) }
            }
            try await end(store, writer, witness, peers, seed: seed)
        }

        @Test("A process that is stopped while others write and compact the history gets the right values afterwards, each once")
        func suspendedProcess() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let fixture = try await EtcdFixture(cluster)
            let peers = try start(["peer1"], steps: 0, beside: ["own"], seed: 1, fixture)
            let store = try await ObservableStore.open(fixture.backend())
            let witness = StoreWitness(store)
            for peer in peers { _ = try await peer.lines(count: 1) }
            for peer in peers { peer.signal(SIGSTOP) }
            var writer = RandomWriter("own", seed: 1, store: store)
            let client = try fixture.client()
            for _ in 1...100 {
                try await writer.run(steps: 2)
                // No entry, but an event: more than the buffers between a member and the process hold, so that the rest waits in etcd.
                let filler = PutRequest(key: fixture.keys.reservedKey("filler"), value: Array(repeating: 7, count: 1_000_000))
                _ = try await client.call(filler, deadline: .now + .seconds(60))
            }
            try await store.flush()
            try await cluster.compact(to: cluster.plainValue(of: "any").revision)
            for peer in peers {
                peer.signal(SIGCONT)
                try peer.send("write")
            }
            try await end(store, writer, witness, peers, seed: 1)
        }

        private func start(
            _ names: [String], steps: Int, beside own: [String], seed: UInt64, _ fixture: EtcdFixture
        ) throws -> [RunningProgram] {
            let endpoints = fixture.cluster.endpoints.joined(separator: ",")
            return try names.map { name in
                let others = names.filter { $0 != name } + own
                let arguments = ["etcd-history", endpoints, fixture.prefix, name, "\(seed)", "\(steps)", others.joined(separator: ",")]
                return try RunningProgram("Peer", arguments)
            }
        }

        /// Waits until all have written, and compares the changes that they have received.
        private func end(
            _ store: ObservableStore, _ writer: RandomWriter, _ witness: StoreWitness, _ peers: [RunningProgram], seed: UInt64
        ) async throws {
            try await store.flush()
            for peer in peers { try await peer.line { $0 == "written" } }
            for peer in peers { try peer.send("end") }
            try await store.update { _ in }
            try await store.close()
            let history = await witness.history(writers: [writer], others: Set(Self.names))
            #expect(history.violations.map(\.description) == [], "seed \(seed)")
            let end = try PropertyListValue.dictionary(history.end).encoded(as: .binary)
            let text = "end \(end.map { String($0, radix: 16) }.joined())"
            for peer in peers {
                #expect(try await peer.status == 0, "seed \(seed)")
                #expect(peer.lines.elements == ["ready", "written", text], "seed \(seed)")
                // Its store may tell that a member has gone, or that an outcome is unknown.
                #expect(peer.errors.elements.filter { !$0.hasPrefix("ObservableStorage: etcd ") } == [], "seed \(seed)")
            }
        }

        private func cause(_ fault: Fault, to cluster: EtcdCluster, while body: () async throws -> Void) async throws {
            switch fault {
            case .killedLeader: try await cluster.replaceLeader()
            case .suspendedLeader: try await cluster.suspendLeader(until: body)
            case .killedFollower:
                let member = (try await cluster.leader() + 1) % cluster.ports.count
                try await cluster.kill(member)
                try await body()
                try await cluster.restart(member)
            case .compaction: try await cluster.compact(to: cluster.plainValue(of: "any").revision)
            }
        }
    }
#endif
