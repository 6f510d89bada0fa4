#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Stores whose cluster, or a member of it, is away", .needsEtcd, .servers(3), .timeLimit(.minutes(10)))
    struct EtcdAbsenceTests {
        @Test("While the whole cluster is away, values are read and edits wait; they are stored soon after it is back")
        func cluster() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let fixture = try await EtcdFixture(cluster)
            // The times of the watch are those of an application.
            let configuration = fixture.configuration
            let store = try await ObservableStore.open(EtcdBackend(configuration))
            let reader = try await ObservableStore.open(EtcdBackend(configuration))
            try await store.update { $0[.count] = 1 }
            await reader.becomes(1)
            let key = "\(fixture.prefix)/count"
            let before = try #require(try await cluster.plainValue(of: key).value)
            try await cluster.killAll()
            await store.becomesAvailable(false)
            await reader.becomesAvailable(false)
            #expect(store[.count] == 1)
            store[.count] = 2
            #expect(store[.count] == 2)
            #expect(reader[.count] == 1)
            #expect(store.availability != .available)
            #expect(store.unwrittenKeys == ["count"])
            #expect(reader.unwrittenKeys.isEmpty)
            try await cluster.restartAll()
            let restart = ContinuousClock.now
            while try await cluster.plainValue(of: key).value == before {
                // Two seconds on a machine that has nothing else to do.
                try #require(.now - restart < .seconds(120))
                try await Task.sleep(for: .milliseconds(10))
            }
            await reader.becomes(2)
            await store.becomesAvailable(true)
            await reader.becomesAvailable(true)
            #expect(store[.count] == 2)
            try await store.flush()
            #expect(store.unwrittenKeys.isEmpty)
            try await store.close()
            try await reader.close()
        }

        @Test("Changes while the only known member was away, which were compacted meanwhile, are reported once for each key")
        func compaction() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let fixture = try await EtcdFixture(cluster)
            let away = (try await cluster.leader() + 1) % 3
            var configuration = fixture.configuration
            configuration.endpoints = [cluster.endpoints[away]]
            let writer = try fixture.backend()
            try await writer.set(["changed": 0, "deleted": 0, "again": 0, "same": 0])
            let store = try await ObservableStore.open(EtcdBackend(configuration))
            let changes = Recorder<Change<PropertyListValue?>>()
            let listening = Task { [all = store.allChanges()] in
                for await change in all { changes.record(change) }
            }
            try await cluster.kill(away)
            for number in Int64(1)...50 {
                let value = PropertyListValue.integer(PropertyListInteger(number))
                try await writer.set(["changed": value, "new": value, "deleted": nil, "again": nil])
                try await writer.set(["again": value, "passing": value])
                try await writer.set(["passing": nil])
            }
            try await cluster.compact(to: cluster.plainValue(of: "any", member: (away + 1) % 3).revision, member: (away + 1) % 3)
            try await cluster.restart(away)
            let isLast = StorageKey("last", default: false)
            try await writer.set(["last": true])
            for await value in store.values(of: isLast) where value { break }
            let entries = try await writer.load()
            #expect(store.entries == entries.values)
            try await store.close()
            await listening.value
            #expect(Set(changes.elements.map(\.key)) == ["again", "changed", "deleted", "last", "new"])
            #expect(changes.elements.count == 5)
            for change in changes.elements {
                #expect(change.oldValue == (["new", "last"].contains(change.key) ? nil : 0))
                #expect(change.newValue == entries[change.key])
            }
            #expect(entries["changed"] == 50 && entries["deleted"] == nil)
        }
    }

    extension ObservableStore {
        fileprivate nonisolated func becomes(_ number: Int) async {
            for await count in values(of: .count) where count == number { return }
        }

        fileprivate nonisolated func becomesAvailable(_ isAvailable: Bool) async {
            for await availability in availabilityUpdates where (availability == .available) == isAvailable { return }
        }
    }
#endif
