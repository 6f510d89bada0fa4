#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("Names that are equal, in different normalizations", .needsEtcd, .timeLimit(.minutes(10)))
    struct EtcdNamesTests {
        private static let composed = "caf\u{E9}"
        private static let decomposed = "cafe\u{301}"

        private func value(_ text: String) throws -> [UInt8] {
            try PropertyListValue.string(text).etcdBytes(for: "")
        }

        @Test("A key that is renamed to the other form in one transaction stays an entry, with its new value")
        func renamed() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            try await fixture.put(Self.composed, value("old"))
            #expect(try await backend.load()[Self.composed] == "old")
            var request = TxnRequest()
            request.success = [
                .put(key: fixture.keys.start + Self.decomposed.utf8, value: try value("new")),
                .delete(key: fixture.keys.start + Self.composed.utf8),
            ]
            _ = try await fixture.client().call(request, deadline: .now + .seconds(60))
            #expect(try await backend.edit { $0["other"] = 1 }[Self.composed] == "new")
            // It keeps the bytes that it has in etcd.
            try await backend.set([Self.composed: "newest"])
            let stored = try await fixture.stored()
            #expect(stored.map { Array($0.key.utf8) }.contains(Array(Self.decomposed.utf8)))
            #expect(stored.count == 2)
        }

        @Test("A key that was refused becomes the entry when the other one is deleted in the same transaction, and can be deleted")
        func succeeded() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            try await fixture.put(Self.composed, value("first"))
            _ = try await backend.load()
            try await fixture.put(Self.decomposed, value("second"))
            var request = TxnRequest()
            request.success = [
                .put(key: fixture.keys.start + Self.decomposed.utf8, value: try value("third")),
                .delete(key: fixture.keys.start + Self.composed.utf8),
            ]
            _ = try await fixture.client().call(request, deadline: .now + .seconds(60))
            #expect(try await backend.edit { $0["other"] = 1 }[Self.composed] == "third")
            #expect(backend.follower.read { $0.failures.isEmpty } == true)
            try await fixture.delete(Self.decomposed)
            #expect(try await backend.edit { $0["other"] = 2 }[Self.composed] == nil)
        }

        @Test("A key that was refused becomes the entry when the other one is deleted later, with the value that it has by then")
        func admitted() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            try await fixture.put(Self.composed, value("first"))
            let store = try await ObservableStore.open(backend)
            let key = StorageKey(Self.composed, default: "")
            try await fixture.put(Self.decomposed, value("second"))
            try await fixture.put(Self.decomposed, value("third"))
            var values = store.values(of: key).makeAsyncIterator()
            #expect(await values.next() == "first")
            try await fixture.delete(Self.composed)
            #expect(await values.next() == "third")
            #expect(backend.follower.read { $0.failures.isEmpty } == true)
            // It is written under the bytes that it has in etcd.
            try await store.update { $0[key] = "fourth" }
            #expect(try await fixture.stored().keys.map { Array($0.utf8) } == [Array(Self.decomposed.utf8)])
            try await store.close()
        }

        @Test("An edit that has read an entry, before another key became the entry, is repeated")
        func readBefore() throws {
            let keys = EntryKeys(prefix: "p")
            let (first, second) = (keys.start + Self.composed.utf8, keys.start + Self.decomposed.utf8)
            let keyValues = try [
                KeyValue(key: second, value: value("second"), modRevision: 5), KeyValue(key: first, value: value("first"), modRevision: 3),
            ].sorted { $0.key.lexicographicallyPrecedes($1.key) }
            let kept = try #require(keyValues.first)
            var replica = EtcdReplica(of: EtcdSnapshot(clusterID: 7, revision: 10, keyValues: keyValues), keys, named: "etcd")
            let read = replica.view.entries
            #expect(replica.compares(of: [Self.composed], read: read) != nil && replica.compares(of: nil, read: read) != nil)
            _ = replica.apply([WatchEvent(isDelete: true, keyValue: KeyValue(key: kept.key, modRevision: 12))], at: 12)
            #expect(replica.view.entries[Self.composed] != read[Self.composed] && replica.view.entries[Self.composed] != nil)
            #expect(replica.compares(of: [Self.composed], read: read) == nil && replica.compares(of: nil, read: read) == nil)
            #expect(replica.compares(of: [Self.composed], read: replica.view.entries) != nil)
        }

        @Test("The deletion of a key whose event was lost deletes no entry")
        func unknownDeletion() throws {
            let keys = EntryKeys(prefix: "p")
            let snapshot = EtcdSnapshot(
                clusterID: 7, revision: 5,
                keyValues: [KeyValue(key: keys.start + Self.composed.utf8, value: try value("first"), modRevision: 3)])
            var replica = EtcdReplica(of: snapshot, keys, named: "etcd")
            let lost = KeyValue(key: keys.start + Self.decomposed.utf8, modRevision: 7)
            let outcome = replica.apply([WatchEvent(isDelete: true, keyValue: lost)], at: 7)
            #expect(outcome.failures.isEmpty && replica.failures.isEmpty && replica.view.entries[Self.composed] == "first")
            let entry = KeyValue(key: keys.start + Self.composed.utf8, modRevision: 8)
            _ = replica.apply([WatchEvent(isDelete: true, keyValue: entry)], at: 8)
            #expect(replica.view.entries.values.isEmpty)
        }

        @Test("Of keys with equal names, who follows them has the same one as who reads them", arguments: visited(0..<UInt64(40)))
        func sameForAll(seed: UInt64) throws {
            var generator = SeededGenerator(seed: seed)
            let keys = EntryKeys(prefix: "p")
            let names = ["\u{1EB9}\u{301}", "\u{E9}\u{323}", "e\u{323}\u{301}", "e\u{301}\u{323}", "K", "\u{212A}", "other"]
            try #require(Set(names).count == 3)
            var stored: [[UInt8]: KeyValue] = [:]
            func read(at revision: Int64) -> EtcdReplica {
                let keyValues = stored.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                return EtcdReplica(of: EtcdSnapshot(clusterID: 7, revision: revision, keyValues: keyValues), keys, named: "etcd")
            }
            var replica = read(at: 1)
            for revision in 2...200 as ClosedRange<Int64> {
                let events = try names.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)).compactMap { name in
                    let key = keys.start + name.utf8
                    let known = stored[key]
                    if known != nil, Bool.random(using: &generator) {
                        stored[key] = nil
                        return WatchEvent(isDelete: true, keyValue: KeyValue(key: key, modRevision: revision))
                    }
                    let written = KeyValue(
                        key: key, value: try value("\(revision)"), createRevision: known?.createRevision ?? revision, modRevision: revision)
                    stored[key] = written
                    return WatchEvent(keyValue: written)
                }
                _ = replica.apply(events, at: revision)
                let other = read(at: revision)
                try #require(replica.view.entries.values == other.view.entries.values)
                try #require(Set(replica.failures.keys) == Set(other.failures.keys))
                let (revisions, others) = (replica.revisions, other.revisions)
                try #require(names.allSatisfy { revisions.modRevision(of: $0) == others.modRevision(of: $0) })
                try #require(names.allSatisfy { revisions.key(of: $0) == others.key(of: $0) || revisions.modRevision(of: $0) == nil })
            }
        }

        @Test("Two keys with equal names are reported to each store, also to one that is opened later; after one is deleted, to none")
        func reported() async throws {
            let fixture = try await EtcdFixture()
            let backend = try fixture.backend()
            let early = try await ObservableStore.open(backend)
            let failures = early.failures
            try await fixture.put(Self.composed, value("first"))
            try await fixture.put(Self.decomposed, value("second"))
            for await failure in failures {
                #expect("\(failure)".contains("different Unicode normalizations; delete one of them"))
                break
            }
            #expect(early[StorageKey(Self.composed, default: "")] == "first")
            for other in [backend, try fixture.backend()] {
                let store = try await ObservableStore.open(other)
                // The bytes of the other one come first.
                #expect(store[StorageKey(Self.composed, default: "")] == "first")
                for await failure in store.failures {
                    #expect("\(failure)".contains("different Unicode normalizations; delete one of them"))
                    break
                }
                try await store.close()
            }
            try await fixture.delete(Self.decomposed)
            _ = try await backend.edit { $0["other"] = 1 }
            #expect(backend.follower.read { $0.failures.isEmpty } == true)
            #expect(early[StorageKey(Self.composed, default: "")] == "first")
            try await early.close()
        }
    }
#endif
