import TestSupport
import Testing

@testable import EtcdStorage

/// Faults that members of some versions have, and that real ones show too rarely for a test.
@Suite("A watch and the faults of members", .timeLimit(.minutes(10))) struct EtcdWatchFaultTests {
    private let keys = EntryKeys(prefix: "")
    private let snapshot = EtcdSnapshot(clusterID: 7, revision: 5, keyValues: [])

    private func watch(
        _ members: ScriptedMember..., timing: EtcdWatch.Timing = .patient, isAwaited: Bool = false
    ) throws -> RunningWatch {
        try RunningWatch(.patient(ports: members.map(\.port)), keys: keys, after: snapshot, timing: timing, isAwaited: isAwaited)
    }

    /// An answer to range requests.
    private func range(_ keys: KeyValuePairs<String, Int64> = [:], at revision: Int64, cluster: UInt64 = 7) -> RangeRequest.Response {
        let keyValues = keys.map { KeyValue(key: Array($0.utf8), modRevision: $1) }
        let header = ResponseHeader(clusterID: cluster, revision: revision)
        return RangeRequest.Response(header: header, keyValues: keyValues, count: Int64(keyValues.count))
    }

    private func revisions(_ count: Int, of watch: RunningWatch) async -> [Int64] {
        var revisions: [Int64] = []
        while revisions.count < count, let (revision, _) = await watch.nextEvents() { revisions.append(revision) }
        return revisions
    }

    @Test("After progress that has overtaken events, the watch is resumed where the events were")
    func overtakingProgress() async throws {
        let member = try ScriptedMember { number, connection in
            connection.create()
            if number == 0 {
                connection.events(["a": 6])
                connection.progress(9)
            } else {
                connection.events(["a": 7, "b": 9])
                connection.receiveEnd()
            }
        }
        let watch = try watch(member)
        #expect(await revisions(3, of: watch) == [6, 7, 9])
        #expect(member.startRevisions == [5, 6])
    }

    @Test("A watch is resumed with the last delivered revision: etcd omits removals where it begins")
    func resumption() async throws {
        let member = try ScriptedMember(range: range(["a": 5], at: 5)) { number, connection in
            connection.create()
            // As etcd, of which revision 6, a removal, is compacted before it sends what follows.
            guard number > 0 else { return }
            if connection.startRevision == 5 {
                let header = ResponseHeader(clusterID: 7, revision: 7)
                connection.result(WatchResponse(header: header, isCanceled: true, compactRevision: 6))
            } else {
                connection.events(["b": 7])
            }
            connection.receiveEnd()
        }
        let watch = try RunningWatch(.patient(ports: [member.port]), keys: keys)
        #expect(await watch.nextReset() != nil)
        while let step = await watch.next() {
            if case .events(let revision, _) = step { return #expect(revision == 6, "after a removal at 6") }
            if case .reset = step { break }
        }
        #expect(member.startRevisions.prefix(2) == [6, 5])
    }

    @Test("A watch that has begun after others have written what follows its snapshot is resumed", arguments: [5, 6])
    func lateBeginning(revision: Int64) async throws {
        let member = try ScriptedMember(range: range(at: 5)) { number, connection in
            connection.create(revision: number == 0 ? revision : 6)
            connection.events(["a": 6])
            connection.receiveEnd()
        }
        let watch = try RunningWatch(.patient(ports: [member.port]), keys: keys)
        #expect(await revisions(1, of: watch) == [6])
        #expect(member.startRevisions == (revision == 5 ? [6] : [6, 5]))
    }

    @Test("Members that send nothing but the last delivered revision serve nobody")
    func nothingNew() async throws {
        let script = { @Sendable (number: Int, connection: ScriptedMember.Connection) in
            connection.create()
            connection.events(number < 10 ? ["a": 6] : ["b": 7])
            if number == 10 { connection.receiveEnd() }
        }
        let members = try (0..<2).map { _ in try ScriptedMember(range: range(["a": 6], at: 6), script) }
        let watch = try watch(members[0], members[1])
        #expect(await revisions(1, of: watch) == [6])
        while let step = await watch.next() {
            if case .events(let revision, _) = step { return #expect(revision == 6, "before a disconnection") }
            if case .disconnected = step { break }
        }
    }

    @Test("A revision that is sent again is not delivered again")
    func repetition() async throws {
        let member = try ScriptedMember { number, connection in
            connection.create()
            connection.events(["a": 6])
            connection.events(["a": 6])
            if number == 1 { connection.events(["a": 6, "b": 7]) }
            if number == 1 { connection.receiveEnd() }
        }
        let watch = try watch(member)
        #expect(await revisions(2, of: watch) == [6, 7])
    }

    @Test("A revision in fragments is delivered whole, even if the connection is lost between any two of them", arguments: 0...4)
    func fragments(lostAfter: Int) async throws {
        let member = try ScriptedMember { number, connection in
            connection.create()
            let fragments: [KeyValuePairs<String, Int64>] = [["a": 6, "b": 6], ["c": 6], [:], ["d": 6, "a": 7]]
            for (index, fragment) in fragments.enumerated() {
                if number == 0, index == lostAfter { return }
                connection.events(fragment, isFragment: index < 3)
            }
            connection.receiveEnd()
        }
        let watch = try watch(member)
        let first = try #require(await watch.nextEvents())
        #expect(first.revision == 6)
        #expect(first.events.map(\.keyValue.key) == ["a", "b", "c", "d"].map { Array($0.utf8) })
        #expect(await watch.nextEvents()?.revision == 7)
    }

    @Test("The status at the end of a stream is the reason of the disconnection")
    func status() async throws {
        let member = try ScriptedMember { number, connection in
            connection.create()
            if number == 0 {
                connection.end(14, "etcdserver: no leader")
            } else {
                connection.events(["a": 6])
                connection.receiveEnd()
            }
        }
        let watch = try watch(member)
        await watch.untilConnected()
        #expect((await watch.untilDisconnected() as? EtcdFailure)?.message == "etcdserver: no leader")
        await watch.untilConnected()
        #expect(await watch.nextEvents()?.revision == 6)
    }

    @Test("A stream in pieces of one byte is read")
    func pieces() async throws {
        let member = try ScriptedMember { _, connection in
            let event = WatchEvent(keyValue: KeyValue(key: Array("a".utf8), modRevision: 6))
            let response = WatchResponse(header: ResponseHeader(clusterID: 7), events: [event])
            for byte in GRPCMessageSplitter.framed(response.message) { connection.send(bytes: [byte]) }
            connection.receiveEnd()
        }
        #expect(try await watch(member).nextEvents()?.revision == 6)
    }

    @Test("Another cluster at the same address is a reason to read everything again")
    func otherCluster() async throws {
        let member = try ScriptedMember(range: range(["a": 2], at: 3, cluster: 8)) { _, connection in
            connection.create(revision: 3, cluster: 8)
            connection.receiveEnd()
        }
        let watch = try watch(member)
        let expected = EtcdSnapshot(clusterID: 8, revision: 3, keyValues: [KeyValue(key: Array("a".utf8), modRevision: 2)])
        #expect(await watch.nextReset() == expected)
        await watch.untilConnected()
        #expect(member.startRevisions == [5, 4])
    }

    @Test("A history that went backwards, as that of a restored backup, is read again")
    func restoredBackup() async throws {
        let member = try ScriptedMember(range: range(at: 3)) { _, connection in
            connection.create(revision: 3)
            connection.receiveHeartbeat()
            connection.progress(3)
            connection.receiveEnd()
        }
        let watch = try watch(member)
        #expect(await watch.nextReset()?.revision == 3)
    }

    @Test(
        "A history that others have continued beyond the delivered revision, after a backup was restored, is read again",
        arguments: [[], [KeyValue(key: Array("a".utf8), value: [1], modRevision: 6)]])
    func continuedBackup(written: [KeyValue]) async throws {
        let member = try ScriptedMember(range: range(["a": 8, "b": 6], at: 9)) { number, connection in
            connection.create()
            connection.events(number == 0 ? ["a": 6] : ["a": 10])
            if number == 0 { connection.replaceHistory(by: written) } else { connection.receiveEnd() }
        }
        let watch = try watch(member)
        #expect(await revisions(1, of: watch) == [6])
        while let step = await watch.next() {
            guard case .historyReplaced = step else { continue }
            break
        }
        #expect(await watch.nextReset()?.keyValues.map(\.modRevision) == [8, 6])
        #expect(await watch.nextEvents()?.revision == 10)
        #expect(member.startRevisions == [5, 6, 10])
    }

    @Test("A large value is not sent again to find out whether the watch can be resumed")
    func largeValue() async throws {
        let member = try ScriptedMember { number, connection in
            connection.create()
            guard number == 0 else {
                connection.events(["a": 7])
                return connection.receiveEnd()
            }
            let written = KeyValue(key: Array("a".utf8), value: Array(repeating: 1, count: 10_000), modRevision: 6)
            connection.result(
                WatchResponse(header: ResponseHeader(clusterID: 7, revision: 6), events: [WatchEvent(keyValue: written)]))
            connection.end(14, "etcdserver: no leader")
        }
        let watch = try watch(member)
        #expect(await revisions(2, of: watch) == [6, 7])
        #expect(member.largestResponse > 0 && member.largestResponse < 1_000)
    }

    @Test("Instead of events that take too much memory, everything is read again")
    func tooManyEvents() async throws {
        let event: [UInt8] = [11 << 3 | 2, 0]
        let message = GRPCMessageSplitter.framed(Array(repeating: event, count: 500_000).flatMap(\.self))
        let member = try ScriptedMember(range: range(["a": 8], at: 9)) { number, connection in
            connection.create()
            if number == 0 { connection.send(bytes: message) } else { connection.events(["a": 10]) }
            connection.receiveEnd()
        }
        let watch = try watch(member)
        #expect(await watch.nextReset()?.keyValues.map(\.modRevision) == [8])
        #expect(await watch.nextEvents()?.revision == 10)
        #expect(member.startRevisions == [5, 10])
    }

    @Test("A member that lags behind is waited for, if the cluster has the revision")
    func lateMember() async throws {
        let member = try ScriptedMember(range: range(at: 9)) { _, connection in
            connection.create(revision: 3)
            connection.receiveHeartbeat()
            connection.progress(3)
            connection.receiveHeartbeat()
            connection.events(["a": 6])
            connection.receiveEnd()
        }
        let watch = try watch(member)
        await watch.untilConnected()
        guard case .events(6, _) = await watch.next() else { return #expect(Bool(false), "something else than the events") }
    }

    @Test("Without other settings, a silent member is left within five seconds, early enough for calls that wait for another one")
    func defaultTiming() {
        let timing = EtcdWatch.Timing()
        #expect(timing.silence <= .seconds(5) && timing.response <= .seconds(5))
        #expect(timing.heartbeat * 3 <= timing.silence)
        #expect(Duration.backoff(after: 1) <= .milliseconds(100) && Duration.backoff(after: 100) <= .seconds(2))
        #expect(timing.arrival >= timing.silence * 3 && timing.renewals >= 3)
    }

    @Test("A member that falls silent is left for the next one")
    func silence() async throws {
        try await withEnoughTime(from: .milliseconds(100)) { time in
            let silent = try ScriptedMember { _, connection in
                connection.create()
                connection.events(["a": 6])
                connection.receiveEnd()
            }
            let other = try ScriptedMember(range: range(["a": 6], at: 6)) { _, connection in
                connection.create()
                connection.events(["a": 6])
                connection.events(["a": 7])
                while connection.receiveHeartbeat() { connection.progress(7) }
            }
            var timing = EtcdWatch.Timing.patient
            timing.silence = time
            let watch = try watch(silent, other, timing: timing)
            #expect(await revisions(2, of: watch) == [6, 7])
            // On a busy machine, the time may be over before the first event comes.
            return other.startRevisions.first == 6
        }
    }

    @Test("Events that a member has lost are detected by a comparison, and everything is read again")
    func lostEvents() async throws {
        let member = try ScriptedMember(range: range(["a": 6, "b": 7], at: 8)) { _, connection in
            connection.create()
            connection.events(["a": 6, "c": 8])
            while connection.receiveHeartbeat() { connection.progress(8) }
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(10), .milliseconds(10), .milliseconds(10))
        let watch = try watch(member, timing: timing)
        #expect(await revisions(2, of: watch) == [6, 8])
        #expect(await watch.nextReset()?.keyValues.map(\.modRevision) == [6, 7])
    }

    @Test("While a task waits and nothing arrives, lost events are detected long before the next comparison")
    func awaitedEvents() async throws {
        let member = try ScriptedMember(range: range(["a": 6, "b": 7], at: 8)) { _, connection in
            connection.create()
            connection.events(["a": 6])
            while connection.receiveHeartbeat() { connection.progress(8) }
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.suspicion) = (.milliseconds(10), .milliseconds(10))
        let watch = try watch(member, timing: timing, isAwaited: true)
        #expect(await revisions(1, of: watch) == [6])
        #expect(await watch.nextReset()?.keyValues.map(\.modRevision) == [6, 7])
    }

    @Test("After a member or this process has stalled, events lost then are detected long before the next comparison")
    func stalled() async throws {
        let member = try ScriptedMember(range: range(["a": 6, "b": 7], at: 8)) { _, connection in
            connection.create()
            connection.events(["a": 6])
            // Answered together, after three intervals at least.
            for _ in 0..<4 { connection.receiveHeartbeat() }
            while connection.receiveHeartbeat() { connection.progress(8) }
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.suspicion) = (.milliseconds(10), .milliseconds(10))
        let watch = try watch(member, timing: timing)
        #expect(await revisions(1, of: watch) == [6])
        #expect(await watch.nextReset()?.keyValues.map(\.modRevision) == [6, 7])
    }

    @Test("Nothing is read again while comparisons find no difference")
    func agreement() async throws {
        let member = try ScriptedMember(range: range(["a": 6], at: 8)) { _, connection in
            connection.create()
            connection.events(["a": 6])
            for _ in 0..<20 {
                connection.receiveHeartbeat()
                connection.progress(6)
            }
            connection.events(["a": 9])
            connection.receiveEnd()
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(5), .milliseconds(1), .milliseconds(1))
        let watch = try watch(member, timing: timing)
        await watch.untilConnected()
        guard case .events(6, _) = await watch.next(), case .events(9, _) = await watch.next() else {
            return #expect(Bool(false), "something else than the events")
        }
    }

    @Test("A watch that is refused is tried again with a new token", arguments: ["permission denied", "invalid auth token"])
    func refusedToken(reason: String) async throws {
        let member = try ScriptedMember(range: range(at: 5)) { number, connection in
            if number == 0 {
                connection.result(
                    WatchResponse(
                        header: ResponseHeader(clusterID: 7), isCreated: true, isCanceled: true, cancelReason: "etcdserver: \(reason)"))
            } else {
                connection.create()
                connection.events(["a": 6])
            }
            connection.receiveEnd()
        }
        let watch = try RunningWatch(.patient(ports: [member.port], password: "secret"), keys: keys, after: snapshot)
        #expect(await watch.nextEvents()?.revision == 6)
        #expect(member.authentications == 2)
    }

    @Test("While no member serves there is one disconnection, and the watch can be cancelled")
    func noMember() async throws {
        let port = ServerPort.unused()
        let watch = try RunningWatch(.patient(ports: [port]), keys: keys, after: snapshot)
        _ = await watch.untilDisconnected()
        watch.cancel()
        if let step = await watch.next() { Issue.record("\(step)") }
    }

    @Test("A cancelled watch ends while it waits for a response, and ends its call")
    func cancellation() async throws {
        let (closed, continuation) = AsyncStream.makeStream(of: Void.self)
        let member = try ScriptedMember { _, connection in
            connection.create()
            connection.receiveEnd()
            continuation.finish()
        }
        let watch = try watch(member)
        await watch.untilConnected()
        watch.cancel()
        if let step = await watch.next() { Issue.record("\(step)") }
        for await _ in closed {}
    }
}
