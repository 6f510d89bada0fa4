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
}
