#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Increments by several processes", .needsEtcd, .servers(3), .timeLimit(.minutes(10)))
    struct IncrementTests {
        private static let processes = 4
        private static let increments = isLong ? 600 : 150
        private static let faults = isLong ? 8 : 4

        @Test("No increment is lost, and none counts twice, while the leader is killed and suspended again and again")
        func exact() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let fixture = try await EtcdFixture(cluster)
            let endpoints = cluster.endpoints.joined(separator: ",")
            let names = (1...Self.processes).map { "process\($0)" }
            let peers = try names.map {
                try RunningProgram("Peer", ["etcd-increments", endpoints, fixture.prefix, $0, "\(Self.increments)"])
            }
            for peer in peers { _ = try await peer.lines(count: 1) }
            let observer = try await ObservableStore.open(fixture.backend())
            for peer in peers { try peer.send("go") }
            // Only the process itself writes this number, so that it rises even if others are lost.
            let first = StorageKey("count.\(names[0])", default: 0)
            for fault in 1...Self.faults {
                try await observer.reaches(Self.increments * fault / (Self.faults + 2), first)
                if fault <= (Self.faults + 1) / 2 {
                    try await cluster.replaceLeader()
                } else {
                    try await cluster.suspendLeader { try await observer.reaches(min(Self.increments, observer[first] + 5), first) }
                }
            }
            for (name, peer) in zip(names, peers) {
                #expect(try await peer.status == 0, "\(name)")
                #expect(peer.lines.elements == ["ready", "\(Self.increments)"], "\(name)")
                // Its store may tell that a member has gone.
                #expect(peer.errors.elements.filter { !$0.hasPrefix("ObservableStorage: etcd ") } == [], "\(name)")
            }
            try await observer.close()
            // Independent of what the stores have reported.
            let store = try await ObservableStore.open(fixture.backend())
            #expect(store[.count] == Self.processes * Self.increments)
            for name in names { #expect(store[StorageKey("count.\(name)", default: 0)] == Self.increments) }
            try await store.close()
        }
    }

    extension ObservableStore {
        /// Waits until a number is at least another one.
        fileprivate nonisolated func reaches(_ number: Int, _ key: StorageKey<Int>) async throws {
            for await value in values(of: key) where value >= number { return }
            try Task.checkCancellation()
        }
    }
#endif
