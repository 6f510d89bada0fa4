import Dispatch
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import EtcdStorage

@Suite("The identity of a history in etcd", .timeLimit(.minutes(10))) struct EtcdHistoryIdentityTests {
    private let keys = EntryKeys(prefix: "p")

    private func mark(_ text: String, at revision: Int64) -> KeyValue {
        KeyValue(key: keys.history, value: Array(text.utf8), createRevision: 1, modRevision: revision)
    }

    private func entry(_ name: String, at revision: Int64) -> KeyValue {
        KeyValue(key: keys.start + name.utf8, value: [1], createRevision: revision, modRevision: revision)
    }

    private func replica(
        _ keyValues: [KeyValue], at revision: Int64 = 10, cluster: UInt64 = 7, after earlier: EtcdReplica? = nil,
        avoiding histories: Set<String> = []
    ) -> EtcdReplica {
        EtcdReplica(
            of: EtcdSnapshot(clusterID: cluster, revision: revision, keyValues: keyValues), keys, named: "etcd", after: earlier?.view,
            avoiding: histories.union(earlier?.view.identity.names ?? []))
    }

    @Test("The name of a history has the number that is stored; everybody who reads it has the same name")
    func stored() {
        let replica = replica([mark("a1", at: 2), entry("a", at: 3)])
        #expect(replica.view.history == "7.a1" && replica.historyWrite == nil)
        #expect(replica.view.keyCount == 1 && replica.view.entries.values.count == 1)
    }

    @Test("Without a number, entries are of an older version, and have the name of the cluster; the next transaction stores one")
    func older() throws {
        let replica = replica([entry("a", at: 3)])
        #expect(replica.view.history == "7" && replica.view.entries.revision == StorageRevision(history: "7", number: 10))
        let write = try #require(replica.historyWrite)
        #expect(write.compare == TxnRequest.Compare(key: keys.history, modRevision: 0))
        #expect(UInt64(String(decoding: write.put.value, as: UTF8.self), radix: 16) != nil && write.put.key == keys.history)
    }

    @Test("Without entries, the name has the number that the next transaction stores, and it keeps that when it is stored")
    func empty() throws {
        var replica = replica([])
        let write = try #require(replica.historyWrite)
        #expect(replica.view.history == "7." + String(decoding: write.put.value, as: UTF8.self))
        let stored = KeyValue(key: keys.history, value: write.put.value, createRevision: 11, modRevision: 11)
        let outcome = replica.apply([WatchEvent(keyValue: entry("a", at: 11)), WatchEvent(keyValue: stored)], at: 11)
        #expect(outcome.changes?.values.keys.sorted() == ["a"] && outcome.changes?.since.history == replica.view.history)
        #expect(replica.historyWrite == nil && replica.view.keyCount == 1)
        #expect(self.replica([stored, entry("a", at: 11)], at: 20).view.history == replica.view.history)
    }

    @Test("A history keeps its name while it is followed, if somebody else stores a number, and when everything is read again")
    func followed() throws {
        for first in [replica([]), replica([entry("a", at: 3)])] {
            var replica = first
            let other = mark("b2", at: 12)
            #expect(replica.apply([WatchEvent(keyValue: other)], at: 12).changes == nil)
            #expect(replica.view.history == first.view.history && replica.historyWrite == nil)
            let later = self.replica([other, entry("c", at: 13)], at: 20, after: first)
            #expect(later.view.history == first.view.history && later.historyWrite == nil && later.interruption(after: first.view) == nil)
        }
        let first = replica([])
        let later = replica([], at: 20, after: first)
        #expect(later.view.history == first.view.history && later.historyWrite?.put == first.historyWrite?.put)
    }

    @Test("A number that is deleted with everything else is stored again")
    func deleted() throws {
        var replica = replica([mark("a1", at: 2), entry("a", at: 3)])
        _ = replica.apply([WatchEvent(isDelete: true, keyValue: KeyValue(key: keys.history, modRevision: 11))], at: 11)
        #expect(replica.view.history == "7.a1")
        #expect(replica.historyWrite?.put.value == Array("a1".utf8))
        #expect(replica.historyWrite?.compare.modRevision == 0)
    }

    @Test("What is no number is replaced")
    func noNumber() {
        let replica = replica([mark("x y", at: 2), entry("a", at: 3)])
        #expect(replica.view.history == "7" && replica.historyWrite?.compare.modRevision == 2)
    }

    @Test("A cluster that goes back, with the number or without, begins a history, whose number the next transaction stores")
    func restored() throws {
        for keyValues in [[mark("a1", at: 2), entry("a", at: 3)], [entry("a", at: 3)]] {
            let first = replica(keyValues)
            let second = replica(keyValues, at: 9, after: first)
            #expect(second.interruption(after: first.view)?.contains("gone back from revision 10 to 9") == true)
            let write = try #require(second.historyWrite)
            #expect(second.view.history == "7." + String(decoding: write.put.value, as: UTF8.self))
            #expect(second.view.history != first.view.history)
            #expect(write.compare.modRevision == (keyValues.count == 2 ? 2 : 0))
            // It is stored when everything has been read again, unless somebody else was faster.
            var third = replica(keyValues, at: 12, after: second)
            #expect(third.view.history == second.view.history && third.historyWrite?.put == write.put)
            _ = third.apply([WatchEvent(keyValue: mark("c3", at: 13))], at: 13)
            #expect(third.view.history == second.view.history && third.historyWrite == nil)
            // The name does not come again when the same backup is restored once more.
            let names = first.view.identity.names.union(second.view.identity.names)
            let fourth = replica(keyValues, at: 4, after: third, avoiding: names)
            #expect(!names.contains(fourth.view.history) && !third.view.identity.names.contains(fourth.view.history))
        }
    }

    @Test("A cluster that has another number since earlier than what is known, or none, has lost its data, although it has gone on")
    func replaced() throws {
        let first = replica([mark("a1", at: 2), entry("a", at: 3)])
        for keyValues in [[mark("b2", at: 4), entry("a", at: 30)], [entry("a", at: 30)], [mark("a1", at: 4), entry("a", at: 30)]] {
            let second = replica(keyValues, at: 40, after: first)
            #expect(second.interruption(after: first.view)?.contains("other data than before at revision 10") == true)
            #expect(second.view.history != first.view.history)
        }
        #expect(replica([mark("b2", at: 4)], at: 40, after: first).view.history == "7.b2")
        // Since later, somebody has stored another one in the same history.
        let later = replica([mark("b2", at: 11), entry("a", at: 30)], at: 40, after: first)
        #expect(later.interruption(after: first.view) == nil && later.view.history == "7.a1")
        let other = replica([mark("a1", at: 2), entry("a", at: 3)], at: 40, cluster: 8, after: first)
        #expect(other.interruption(after: first.view) == "another cluster serves there now" && other.view.history == "8.a1")
    }

    @Test("A watch that comes back to other data reports the loss, and its revisions have another history")
    func reported() async throws {
        let mayCompact = DispatchSemaphore(value: 0)
        let range = { [keys] (text: String, revision: Int64) in
            let mark = KeyValue(key: keys.history, value: Array(text.utf8), createRevision: 2, modRevision: 2)
            return RangeRequest.Response(header: ResponseHeader(clusterID: 7, revision: revision), keyValues: [mark], count: 1)
        }
        let member = try ScriptedMember(range: range("a1", 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayCompact.wait()
                connection.result(
                    WatchResponse(header: ResponseHeader(clusterID: 7, revision: 9), isCanceled: true, compactRevision: 8))
            }
            connection.receiveEnd()
        }
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        let backend = try EtcdBackend(configuration, timing: .patient)
        #expect(try await backend.load().revision == StorageRevision(history: "7.a1", number: 5))
        let events = Recorder<StorageEvent>()
        let token = backend.watch(since: nil, on: DispatchQueue(label: "events")) { events.record($0) }
        member.setRange(range("b2", 9))
        mayCompact.signal()
        let reported = try await events.elements(count: 3)
        guard case .failed(.historyLost(_, let reason)) = reported[1], case .changed = reported[2] else {
            return #expect(Bool(false), "\(reported)")
        }
        #expect(reason.contains("other data than before"))
        #expect(try await backend.load().revision == StorageRevision(history: "7.b2", number: 9))
        token.cancel()
    }
}

extension TxnRequest.Operation {
    /// The key that is written.
    fileprivate var key: [UInt8] {
        if case .put(let key, _, _) = self { key } else { [] }
    }

    fileprivate var value: [UInt8] {
        if case .put(_, let value, _) = self { value } else { [] }
    }
}
