import ObservableStorage
import PropertyListCoding
import Testing

@testable import EtcdStorage

/// What a backend tells about commits of which etcd does not have everything any more.
@Suite("The history of etcd and the faults of members", .timeLimit(.minutes(10))) struct EtcdHistoryFaultTests {
    @Test("Commits begin after one whose old values were compacted while it was read", arguments: [false, true])
    func compactedMeanwhile(isDelete: Bool) async throws {
        let keys = EntryKeys(prefix: "p")
        @Sendable func header(_ revision: Int64) -> ResponseHeader { ResponseHeader(clusterID: 7, revision: revision) }
        let bytes = try (1 as PropertyListValue).etcdBytes(for: "a")
        func keyValue(_ name: String, created: Int64, at revision: Int64) -> KeyValue {
            KeyValue(key: keys.start + name.utf8, value: bytes, createRevision: created, modRevision: revision)
        }
        let changed = keyValue("a", created: 3, at: 6)
        let events = [
            WatchEvent(isDelete: isDelete, keyValue: isDelete ? KeyValue(key: changed.key, modRevision: 6) : changed),
            WatchEvent(keyValue: keyValue("b", created: 7, at: 7)),
            WatchEvent(keyValue: KeyValue(key: keys.reservedKey("x"), createRevision: 8, modRevision: 8)),
        ]
        let range = RangeRequest.Response(header: header(5), keyValues: [keyValue("a", created: 3, at: 5)], count: 1)
        let member = try ScriptedMember(range: range) { _, connection in
            connection.create()
            connection.result(WatchResponse(header: header(8), events: events))
            connection.receiveEnd()
        }
        member.answerTransactions { _ in TxnRequest.Response(header: header(8), succeeded: true, ranges: [[], nil]) }
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        let backend = try EtcdBackend(configuration, timing: .patient)
        let history = try #require(try await backend.load().revision).history
        #expect(try await backend.commits(since: StorageRevision(history: history, number: 5)) == nil)
        for start in [StorageRevision(history: history, number: 6), nil] {
            let commits = try #require(try await backend.commits(since: start))
            #expect(commits.map(\.edits) == [["b": StorageCommit.Edit(from: nil, to: 1)]])
        }
    }

    @Test("A member that compacts more each time is not read for ever")
    func compactedAgain() async throws {
        let header = ResponseHeader(clusterID: 7, revision: 100)
        let member = try ScriptedMember(range: RangeRequest.Response(header: header, keyValues: [])) { number, connection in
            if number == 0 {
                connection.create(revision: 100)
            } else {
                let compacted = connection.startRevision + 1
                connection.result(WatchResponse(header: header, isCreated: true, isCanceled: true, compactRevision: compacted))
            }
            connection.receiveEnd()
        }
        member.answerTransactions { _ in TxnRequest.Response(header: header, succeeded: true, ranges: [[], nil]) }
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        let backend = try EtcdBackend(configuration, timing: .patient)
        #expect(try await backend.commits(since: nil) == nil)
        #expect(member.startRevisions.dropFirst() == [1, 2, 3, 4])
    }
}
