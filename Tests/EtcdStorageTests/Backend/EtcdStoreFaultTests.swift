import Foundation
import ObservableStorage
import PropertyListCoding
import Testing

@testable import EtcdStorage

/// What a store tells when its member has not told everything.
@Suite("A store and the faults of members", .timeLimit(.minutes(10))) struct EtcdStoreFaultTests {
    private static let names = ["a", "b", "c", "d"]

    private func key(_ name: String) -> StorageKey<Int> { StorageKey(name, default: 0) }

    /// A key of etcd as the gateway sends it.
    private static func json(_ name: String, _ value: Int, at revision: Int64) throws -> String {
        let key = Data(EntryKeys(prefix: "p").start + name.utf8).base64EncodedString()
        let bytes = Data(try EntryValue.encode(.integer(PropertyListInteger(Int64(value))), for: name)).base64EncodedString()
        return #"{"key":"\#(key)","value":"\#(bytes)","create_revision":"1","mod_revision":"\#(revision)"}"#
    }

    /// Everything that is stored at a revision.
    private static func range(_ keyValues: [String], at revision: Int64) -> String {
        #"{"header":{"cluster_id":"7","revision":"\#(revision)"},"kvs":[\#(keyValues.joined(separator: ","))],"count":"\#(keyValues.count)"}"#
    }

    private static func events(_ keyValues: [String], at revision: Int64) -> String {
        let events = keyValues.map { #"{"kv":\#($0)}"# }.joined(separator: ",")
        return #"{"header":{"cluster_id":"7","revision":"\#(revision)"},"events":[\#(events)]}"#
    }

    private func open(_ member: ScriptedMember, timing: EtcdWatch.Timing = .patient) async throws -> ObservableStore {
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        return try await ObservableStore.open(EtcdBackend(configuration, timing: timing))
    }

    private func changes(_ store: ObservableStore) -> [String: AsyncStream<Change<Int>>] {
        Dictionary(uniqueKeysWithValues: Self.names.map { ($0, store.changes(of: key($0))) })
    }

    /// The values that each key is changed to, up to a last one.
    private func told(_ changes: [String: AsyncStream<Change<Int>>], upTo last: [String: Int]) async -> [String: [Int]] {
        var told: [String: [Int]] = [:]
        for (name, changes) in changes {
            for await change in changes {
                told[name, default: []].append(change.newValue)
                if change.newValue == last[name] { break }
            }
        }
        return told
    }

    @Test("After a compaction each entry that differs is told once, removals among them, and nothing that is equal")
    func compaction() async throws {
        let mayCompact = DispatchSemaphore(value: 0)
        let first = try [Self.json("a", 1, at: 3), Self.json("b", 2, at: 4), Self.json("c", 3, at: 5)]
        let last = try [("a", 100), ("b", 200), ("c", 300), ("d", 400)].map { try Self.json($0, $1, at: 11) }
        let member = try ScriptedMember(range: Self.range(first, at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayCompact.wait()
                connection.result(#"{"header":{"cluster_id":"7","revision":"10"},"canceled":true,"compact_revision":"9"}"#)
            } else {
                connection.result(Self.events(last, at: 11))
            }
            connection.receiveEnd()
        }
        let store = try await open(member)
        let changes = changes(store)
        member.setRange(Self.range(try [Self.json("a", 1, at: 3), Self.json("b", 20, at: 9), Self.json("d", 4, at: 10)], at: 10))
        mayCompact.signal()
        #expect(
            await told(changes, upTo: ["a": 100, "b": 200, "c": 300, "d": 400]) == [
                "a": [100], "b": [20, 200], "c": [0, 300], "d": [4, 400],
            ])
        #expect(member.startRevisions == [6, 11])
        try await store.close()
    }

    @Test("Events that a member has lost are found by the comparison, and told once, though there is no newer revision")
    func lostEvents() async throws {
        let first = try [Self.json("a", 1, at: 3), Self.json("b", 2, at: 4), Self.json("c", 3, at: 5)]
        let lossy = try [Self.json("b", 20, at: 6)]
        let last = try [("a", 100), ("b", 200), ("c", 300), ("d", 400)].map { try Self.json($0, $1, at: 7) }
        let (mayLose, isRepaired) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let member = try ScriptedMember(range: Self.range(first, at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayLose.wait()
                connection.result(Self.events(lossy, at: 6))
                // Answered until the client has compared, and begins anew.
                for _ in 0..<1_000 {
                    connection.receiveHeartbeat()
                    connection.progress(6)
                }
            } else {
                isRepaired.wait()
                connection.result(Self.events(last, at: 7))
            }
            connection.receiveEnd()
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(10), .milliseconds(1), .milliseconds(1))
        let store = try await open(member, timing: timing)
        let changes = changes(store)
        member.setRange(Self.range(try [Self.json("b", 20, at: 6), Self.json("c", 30, at: 6), Self.json("d", 4, at: 6)], at: 6))
        mayLose.signal()
        #expect(await told(changes, upTo: ["a": 0, "b": 20, "c": 30, "d": 4]) == ["a": [0], "b": [20], "c": [30], "d": [4]])
        isRepaired.signal()
        #expect(await told(changes, upTo: ["a": 100, "b": 200, "c": 300, "d": 400]) == ["a": [100], "b": [200], "c": [300], "d": [400]])
        try await store.close()
    }
}
