import TestSupport
import Testing

@testable import EtcdStorage

@Suite("The progress of a watch", .timeLimit(.minutes(10))) struct EtcdWatchProgressTests {
    private let key: [UInt8] = [1]

    private func progress(at revision: Int64 = 5, _ keyValues: [KeyValue] = []) -> WatchProgress {
        WatchProgress(after: EtcdSnapshot(clusterID: 7, revision: revision, keyValues: keyValues))
    }

    private func event(_ revision: Int64, key: [UInt8] = [1], isDelete: Bool = false) -> WatchEvent {
        WatchEvent(isDelete: isDelete, keyValue: KeyValue(key: key, modRevision: revision))
    }

    private func message(_ events: [WatchEvent], isFragment: Bool = false, header: Int64 = 1_000) -> WatchResponse {
        WatchResponse(header: ResponseHeader(clusterID: 7, revision: header), isFragment: isFragment, events: events)
    }

    private func revisions(_ outcome: WatchProgress.Outcome) -> [Int64]? {
        if case .events(let revisions) = outcome { revisions.map(\.number) } else { nil }
    }

    @Test("Events are delivered by revision, all of one revision together")
    func wholeRevisions() {
        var progress = progress()
        let outcome = progress.receive(message([event(6), event(6, key: [2]), event(9)]))
        #expect(
            outcome == .events([.init(number: 6, events: [event(6), event(6, key: [2])]), .init(number: 9, events: [event(9)])]))
        #expect(progress.revision == 9)
    }

    @Test("What was delivered before is not delivered again")
    func repetition() {
        var progress = progress()
        #expect(revisions(progress.receive(message([event(4), event(5), event(6)]))) == [6])
        #expect(revisions(progress.receive(message([event(6), event(6, key: [2])]))) == [])
        #expect(revisions(progress.receive(message([event(6), event(7)]))) == [7])
    }

    @Test("Fragments are joined, wherever they end, and only the last revision of one waits for the next", arguments: 0...6)
    func fragments(end: Int) {
        let events = [6, 6, 7, 8, 8, 8].map { event($0) }
        var progress = progress()
        let complete: [Int64] = end < 3 ? [] : end == 3 ? [6] : [6, 7]
        let first = progress.receive(message(Array(events[..<end]), isFragment: true))
        #expect(revisions(first) == complete)
        #expect(progress.revision == complete.last ?? 5)
        let header = ResponseHeader(clusterID: 7, revision: 8)
        #expect(revisions(progress.receive(WatchResponse(header: header))) == [])
        guard end < 6 else { return }
        guard case .events(let before) = first, case .events(let after) = progress.receive(message(Array(events[end...]))) else {
            return #expect(Bool(false))
        }
        #expect((before + after).map(\.number) == [6, 7, 8])
        #expect((before + after).map(\.events.count) == [2, 1, 3])
    }

    @Test("A revision whose fragments never end is dropped at the limit: everything is read again")
    func endlessRevision() {
        let limit = 100_000
        var progress = WatchProgress(after: EtcdSnapshot(clusterID: 7, revision: 5, keyValues: []), memoryLimit: limit)
        var count = 0
        while count < 10_000, progress.receive(message([event(6)], isFragment: true)) == .events([]) { count += 1 }
        #expect(count == limit / event(6).memorySize)
        // Those of other revisions are delivered.
        progress = WatchProgress(after: EtcdSnapshot(clusterID: 7, revision: 5, keyValues: []), memoryLimit: limit)
        for number in 6..<10_000 as Range<Int64> {
            #expect(revisions(progress.receive(message([event(number)], isFragment: true))) == (number == 6 ? [] : [number - 1]))
        }
    }

    @Test("Fragments of a connection that was lost are not joined with those of the next")
    func lostFragments() {
        var progress = progress()
        _ = progress.receive(message([event(6)], isFragment: true))
        progress.reconnect()
        #expect(
            progress.receive(message([event(6), event(7)]))
                == .events([.init(number: 6, events: [event(6)]), .init(number: 7, events: [event(7)])]))
    }

    @Test("Progress never moves the watch forward")
    func overtakingProgress() {
        var progress = progress()
        #expect(progress.receive(message([], header: 20)) == .events([]))
        #expect(progress.revision == 5)
        #expect(revisions(progress.receive(message([event(6)]))) == [6])
    }

    @Test("A watch is quiet after two responses to heartbeats of one connection, between which nothing has arrived")
    func quiet() {
        var progress = progress()
        func answer() -> Bool {
            _ = progress.receive(message([], header: 20))
            return progress.isQuiet
        }
        #expect([answer(), answer(), answer()] == [false, true, true])
        _ = progress.receive(message([event(6)]))
        #expect(!progress.isQuiet)
        #expect([answer(), answer()] == [false, true])
        progress.reconnect()
        #expect(!progress.isQuiet)
        #expect([answer(), answer()] == [false, true])
    }

    @Test("A member that reports an older revision than was delivered is behind, and one without a revision as well")
    func behind() {
        var progress = progress()
        #expect(progress.receive(message([], header: 4)) == .isBehind)
        #expect(progress.receive(message([], header: 5)) == .events([]))
    }

    @Test("Revisions that fall, another cluster and a compacted history are reasons to read everything again")
    func resets() {
        var progress = progress()
        #expect(progress.receive(message([event(8), event(7)])) == .reset)
        #expect(progress.receive(WatchResponse(header: ResponseHeader(clusterID: 8, revision: 9), isCreated: true)) == .reset)
        #expect(progress.receive(WatchResponse(isCanceled: true, compactRevision: 8)) == .reset)
        #expect(progress.revision == 5)
    }

    @Test("A refused watch ends, although the same message says that it was created")
    func refused() {
        var progress = progress()
        let outcome = progress.receive(WatchResponse(isCreated: true, isCanceled: true, cancelReason: "etcdserver: permission denied"))
        guard case .ended(let failure) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(failure.isPermissionDenied)
        #expect(progress.receive(WatchResponse(isCreated: true)) == .created)
    }

    @Test(
        "Any history is delivered once and in order, over lost connections, repetitions and fragments", arguments: 0..<50 as Range<UInt64>)
    func randomHistories(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let history = (6..<200 as Range<Int64>).flatMap { number in
            (0..<Int.random(in: 0...4, using: &generator)).map { event(number, key: [UInt8($0)]) }
        }
        var progress = progress()
        var delivered: [WatchEvent] = []
        while delivered.count < history.count {
            progress.reconnect()
            // A member may begin too early.
            let start = progress.revision + 1 - Int64.random(in: 0...3, using: &generator)
            var rest = history.drop { $0.keyValue.modRevision < start }
            while !rest.isEmpty, Int.random(in: 0..<10, using: &generator) > 0 {
                var count = Int.random(in: 1...20, using: &generator)
                while count < rest.count, rest.dropFirst(count).first?.keyValue.modRevision == rest.prefix(count).last?.keyValue.modRevision
                {
                    count += 1
                }
                var part = rest.prefix(count)
                rest = rest.dropFirst(count)
                while part.count > 1, Bool.random(using: &generator) {
                    let size = Int.random(in: 1..<part.count, using: &generator)
                    guard case .events(let revisions) = progress.receive(message(Array(part.prefix(size)), isFragment: true)) else {
                        return #expect(Bool(false))
                    }
                    delivered += revisions.flatMap(\.events)
                    part = part.dropFirst(size)
                }
                guard case .events(let revisions) = progress.receive(message(Array(part))) else { return #expect(Bool(false)) }
                delivered += revisions.flatMap(\.events)
            }
        }
        #expect(delivered == history)
    }
}

@Suite("Comparisons of a watch with etcd", .timeLimit(.minutes(10))) struct EtcdWatchComparisonTests {
    private func snapshot(_ revision: Int64, _ keys: [UInt8: Int64], clusterID: UInt64 = 7) -> EtcdSnapshot {
        EtcdSnapshot(clusterID: clusterID, revision: revision, keyValues: keys.map { KeyValue(key: [$0], modRevision: $1) })
    }

    private func events(_ keys: [UInt8: Int64], isDelete: Bool = false) -> WatchResponse {
        let events = keys.sorted { $0.value < $1.value }.map {
            WatchEvent(isDelete: isDelete, keyValue: KeyValue(key: [$0.key], modRevision: $0.value))
        }
        return WatchResponse(header: ResponseHeader(clusterID: 7, revision: 100), events: events)
    }

    @Test("Nothing is lost while the keys are those that were delivered")
    func complete() {
        var progress = WatchProgress(after: snapshot(5, [1: 3, 2: 4, 3: 5]))
        _ = progress.receive(events([1: 6, 4: 7]))
        _ = progress.receive(events([2: 8], isDelete: true))
        #expect(progress.compare(with: snapshot(20, [1: 6, 3: 5, 4: 7])) == .isComplete)
    }

    @Test("Events in transit are suspect, and not lost if they arrive")
    func onTheirWay() {
        var progress = WatchProgress(after: snapshot(5, [1: 3, 2: 4]))
        #expect(progress.compare(with: snapshot(7, [1: 6])) == .isSuspect)
        _ = progress.receive(events([1: 6]))
        _ = progress.receive(events([2: 7], isDelete: true))
        #expect(progress.compare(with: snapshot(7, [1: 6])) == .isComplete)
    }

    @Test("A key that changes all the time is not lost, even if its last event is always in transit")
    func busyKey() {
        var progress = WatchProgress(after: snapshot(5, [1: 5]))
        for revision in 6..<20 as Range<Int64> {
            #expect(progress.compare(with: snapshot(revision, [1: revision])) == .isSuspect)
            _ = progress.receive(events([1: revision]))
        }
    }

    @Test("A key that is deleted and written again all the time is not lost either")
    func busyDeletedKey() {
        var progress = WatchProgress(after: snapshot(5, [:]))
        for revision in stride(from: 6, to: 20, by: 2) as StrideTo<Int64> {
            #expect(progress.compare(with: snapshot(revision, [1: revision])) == .isSuspect)
            _ = progress.receive(events([1: revision]))
            _ = progress.receive(events([1: revision + 1], isDelete: true))
        }
    }

    @Test(
        "An event that has not arrived by the next comparison is lost",
        arguments: [[1: 6, 2: 4], [1: 3], [1: 3, 2: 4, 3: 7]] as [[UInt8: Int64]])
    func lost(keys: [UInt8: Int64]) {
        var progress = WatchProgress(after: snapshot(5, [1: 3, 2: 4]))
        #expect(progress.compare(with: snapshot(8, keys)) == .isSuspect)
        _ = progress.receive(events([9: 10]))
        var later = keys
        later[9] = 10
        #expect(progress.compare(with: snapshot(12, later)) == .isLost)
    }

    @Test("An older revision, or another cluster, is another history")
    func otherHistory() {
        var progress = WatchProgress(after: snapshot(5, [1: 3]))
        #expect(progress.compare(with: snapshot(4, [1: 3])) == .isReplaced)
        #expect(progress.compare(with: snapshot(5, [1: 3], clusterID: 8)) == .isReplaced)
    }
}
