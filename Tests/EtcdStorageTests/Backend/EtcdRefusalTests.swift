import Dispatch
import ObservableStorage
import Testing

@testable import EtcdStorage

/// What a store reports when members respond that they do not serve its client any more.
@Suite("Members that refuse the client", .timeLimit(.minutes(10))) struct EtcdRefusalTests {
    /// - Parameters:
    ///   - count: the number of watches that are refused.
    ///   - failing: the one among them that fails for another reason.
    private func member(refusing count: Int, failing: Int?, after isWatched: DispatchSemaphore) throws -> ScriptedMember {
        let header = ResponseHeader(clusterID: 7, revision: 5)
        return try ScriptedMember(range: RangeRequest.Response(header: header, keyValues: [])) { number, connection in
            if number == failing { return connection.end(14, "etcdserver: no leader") }
            if 1...count ~= number { return connection.end(7, "etcdserver: permission denied") }
            connection.create()
            if number == 0 {
                isWatched.wait()
                return connection.end(14, "etcdserver: server stopped")
            }
            let entry = KeyValue(key: EntryKeys(prefix: "p").start + "a".utf8, value: [1], createRevision: 6, modRevision: 6)
            connection.result(WatchResponse(header: header, events: [WatchEvent(keyValue: entry)]))
            connection.receiveEnd()
        }
    }

    private func open(_ member: ScriptedMember) async throws -> ObservableStore {
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        return try await ObservableStore.open(EtcdBackend(configuration, timing: .patient))
    }

    @Test("A store reports why it is refused, once, also if other members are down", arguments: [(2, nil), (5, nil), (3, 2), (7, 4)])
    func refused(count: Int, failing: Int?) async throws {
        #expect(try await reasons(count, failing).filter { $0.contains("permission denied (code 7)") }.count == 1)
    }

    @Test("A single refusal is not reported, as of a token that has expired and is renewed")
    func renewed() async throws {
        #expect(try await !reasons(1).contains { $0.contains("permission denied") })
    }

    /// The failures that a store reports until it is served again.
    private func reasons(_ count: Int, _ failing: Int? = nil) async throws -> [String] {
        let isWatched = DispatchSemaphore(value: 0)
        let member = try member(refusing: count, failing: failing, after: isWatched)
        let store = try await open(member)
        let failures = store.failures
        var changes = store.allChanges().makeAsyncIterator()
        isWatched.signal()
        #expect(await changes.next()?.key == "a")
        try await store.close()
        var reasons: [String] = []
        for await failure in failures { reasons.append("\(failure)") }
        return reasons
    }
}
