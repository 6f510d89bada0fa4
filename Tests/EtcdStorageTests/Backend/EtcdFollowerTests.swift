import Foundation
import ObservableStorage
import PropertyListCoding
import Testing

@testable import EtcdStorage

@Suite("Waiting for what an etcd cluster tells", .timeLimit(.minutes(10))) struct EtcdFollowerTests {
    /// One that never begins to follow.
    private func follower() throws -> EtcdFollower {
        let configuration = EtcdConfiguration(endpoints: ["127.0.0.1:1"], prefix: "p")
        return try EtcdFollower(EtcdClient(configuration), EntryKeys(prefix: "p"), named: "etcd", timing: .patient)
    }

    @Test("Each ends at its own deadline, earlier or later than that of another, and not before")
    func deadlines() async throws {
        let follower = try follower()
        let ends = await withTaskGroup(of: (isNil: Bool, isOver: Bool).self) { group in
            for milliseconds in [40, 20, 60, 0, 20] {
                group.addTask {
                    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
                    return (await follower.newer(than: nil, until: deadline) == nil, .now >= deadline)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends.count == 5)
        #expect(ends.allSatisfy { $0.isNil && $0.isOver })
    }

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test("One that begins later and ends earlier than another does not wait for that one's deadline")
    func earlierDeadline() async throws {
        let follower = try follower()
        let other = Task.immediate { await follower.newer(than: nil, until: .now + .seconds(3_600)) }
        #expect(await follower.newer(than: nil, until: .now + .milliseconds(20)) == nil)
        other.cancel()
        #expect(await other.value == nil)
    }

    @Test("One ends with its task, and leaves the others", arguments: [false, true])
    func cancellation(before: Bool) async throws {
        let follower = try follower()
        let other = Task { await follower.outcome(of: "b", until: .now + .milliseconds(20)) }
        let task = Task {
            if before { withUnsafeCurrentTask { $0?.cancel() } }
            return await follower.outcome(of: "a", until: .now + .seconds(3_600))
        }
        if !before { task.cancel() }
        #expect(await task.value == nil)
        #expect(await other.value == nil)
    }

    @Test("A transaction whose event was missed has what stores have read meanwhile, and not the entries before")
    func missedEvent() async throws {
        let follower = try follower()
        let keys = follower.keys
        func snapshot(at revision: Int64, _ keyValues: [KeyValue]) -> EtcdSnapshot {
            EtcdSnapshot(clusterID: 1, revision: revision, keyValues: keyValues)
        }
        func entry(_ name: String, _ byte: UInt8, at revision: Int64) -> KeyValue {
            KeyValue(key: keys.start + name.utf8, value: [byte], createRevision: 2, modRevision: revision)
        }
        func reset(to snapshot: EtcdSnapshot) {
            follower.client.executor.queue.sync {
                follower.receive(.page(snapshot, snapshot.keyValues[...], keyCount: snapshot.keyValues.count))
                follower.receive(.reset(snapshot))
            }
        }
        reset(to: snapshot(at: 5, [entry("a", 1, at: 4)]))
        let read = follower.entries(of: snapshot(at: 9, [entry("a", 2, at: 9)]))
        var edited = read.stored(at: read.revision)
        edited["b"] = .data(Data([3]))
        follower.expect("attempt", storing: edited, over: read)
        let token = KeyValue(key: keys.token("x"), value: Array("attempt".utf8), createRevision: 10, modRevision: 10)
        reset(to: snapshot(at: 10, [token, entry("a", 2, at: 9), entry("b", 3, at: 10)]))
        let outcome = await follower.outcome(of: "attempt", until: .now)
        #expect(outcome?["a"] == .data(Data([2])))
        #expect(outcome?["b"] == .data(Data([3])))
    }
}
