import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// After a power failure, nothing is missing for which a call had returned, and what is found is a state that there was.
@Suite("Power failures with a journal", .timeLimit(.minutes(10)), .offPool, .namingSeed)
struct PowerFailureTests {
    private typealias Values = [String: PropertyListValue]

    /// What a process does.
    enum Step: Sendable {
        case set([String: PropertyListValue?])
        /// Nobody waits until it is durable.
        case behind([String: PropertyListValue?])
        case checkpoint
        /// Another process of this library commits during a checkpoint, after the list was encoded.
        case late([String: PropertyListValue?])
        /// Another program replaces the list, without a lock and without synchronizing the folder.
        case foreign([String: PropertyListValue?], isSynchronized: Bool = true)
        /// Another process of this library, with the same disk, that is not stopped.
        case other([String: PropertyListValue?])
        /// The process opens the list again.
        case reopen
    }

    enum Script: String, CaseIterable, Sendable {
        case commits, checkpoints, long, foreign, two, unsynchronized, behind, late

        /// A journal that keeps little is made again, durably, at each checkpoint.
        var mode: JournalMode { .full(keeping: self == .behind ? 1 << 20 : 256) }

        var steps: [Step] {
            let text = PropertyListValue.string(String(repeating: "x", count: 150))
            switch self {
            case .commits: return [.set(["a": 1]), .set(["a": 2, "b": nil]), .set(["b": 3]), .reopen, .set(["a": 1])]
            case .checkpoints:
                return [
                    .set(["a": 1, "b": 1]), .checkpoint, .set(["a": 2, "b": 2]), .set(["c": nil]), .checkpoint, .set(["a": 3]),
                ]
            case .long:
                return (1...4).flatMap { [.set(["a": .integer(PropertyListInteger(Int64($0))), "text": text]), .checkpoint] } + [
                    .set(["a": 9]), .reopen, .set(["b": 9]), .checkpoint,
                ]
            case .foreign:
                return [
                    .set(["a": 1]), .foreign(["f": 1]), .set(["b": 2]), .checkpoint, .set(["a": 3]), .foreign(["f": 2, "a": 3]), .reopen,
                    .set(["b": 4]), .checkpoint,
                ]
            case .two:
                return [.set(["a": 1]), .other(["b": 1]), .checkpoint, .other(["b": 2]), .set(["a": 2]), .checkpoint, .other(["b": 3])]
            case .unsynchronized:
                return [.set(["a": 1]), .foreign(["f": 1, "a": 1], isSynchronized: false), .set(["b": 2]), .set(["b": 3])]
            case .behind:
                // Without the last of its commits, a journal tells to undo what the list has.
                return [
                    .set(["a": 1]), .checkpoint, .set(["a": 2]), .behind(["a": 1]), .checkpoint, .behind(["b": 1]), .behind(["b": 2]),
                    .set(["c": 1]), .behind(["c": 2]), .reopen, .checkpoint,
                ]
            case .late: return [.set(["a": 1]), .late(["a": 2]), .set(["b": 1]), .late(["b": 2, "a": 1]), .checkpoint]
            }
        }
    }

    private struct Run {
        let fixture: JournalFixture
        let disk: PowerFailure
        var states: [Values]
        var returned = 0
        var begun = 0
        /// Whether a list is in place that nobody has synchronized.
        var isUnsynchronized = false

        var possible: ArraySlice<Values> { states[returned...begun] }
    }

    private func run(_ script: Script, calls count: Int) throws -> Run {
        let start: Values = ["a": 0, "b": 0, "c": 0]
        let fixture = try JournalFixture(start)
        var run = Run(fixture: fixture, disk: try PowerFailure(of: fixture.folder.url), states: [start])
        var calls = run.disk.calls(count)
        let duringCheckpoint = Lock<[String: PropertyListValue?]?>(nil)
        let synchronize = calls.synchronize
        calls.synchronize = { [calls] descriptor throws(SystemError) in
            try synchronize(descriptor)
            guard let edits = duringCheckpoint.take({ $0.take() }) else { return }
            do {
                try fixture.backend(script.mode, calls: calls).set(edits)
            } catch {
                throw SystemError(EIO)
            }
        }
        var backend = fixture.backend(script.mode, calls: calls)
        let other = fixture.backend(script.mode, calls: calls)
        func begin(_ edits: [String: PropertyListValue?]) {
            var state = run.states[run.states.count - 1]
            for (key, value) in edits { state[key] = value }
            run.states.append(state)
            run.begun += 1
        }
        do {
            for step in script.steps {
                switch step {
                case .set(let edits):
                    begin(edits)
                    try backend.set(edits)
                    run.returned = run.begun
                    run.isUnsynchronized = false
                case .behind(let edits):
                    begin(edits)
                    var options = CommitOptions()
                    options.isBehind = true
                    _ = try backend.edit(options) { entries in
                        for (key, value) in edits { entries[key] = value }
                    }
                case .other(let edits):
                    begin(edits)
                    try other.set(edits)
                    run.returned = run.begun
                case .late(let edits):
                    begin(edits)
                    duringCheckpoint.withLock { $0 = edits }
                    try backend.checkpoint()
                    #expect(duringCheckpoint.withLock { $0 == nil })
                    run.returned = run.begun
                case .checkpoint:
                    try backend.checkpoint()
                    run.returned = run.begun
                case .reopen: backend = fixture.backend(script.mode, calls: calls)
                case .foreign(let edits, let isSynchronized):
                    if run.disk.made.count > count { break }
                    begin(edits)
                    var list = try fixture.stored()
                    for (key, value) in edits { list[key] = value }
                    try fixture.write(list, synchronized: isSynchronized, on: run.disk)
                    run.isUnsynchronized = !isSynchronized
                }
            }
        } catch is StorageError {
            // The process has ended.
        }
        return run
    }

    @Test("Nothing that was durable is lost at any system call, and nothing is mixed", arguments: Script.allCases)
    func everyCall(script: Script) throws {
        let all = try run(script, calls: .max)
        #expect(all.returned == all.begun)
        for count in CallRecorder.visitedCalls(all.disk.made, ifChangingFiles: true) + [all.disk.made.count] {
            let run = try run(script, calls: count)
            if run.isUnsynchronized { continue }
            let moment = try run.disk.moment()
            for (outcome, files) in moment.outcomes(random: isLong ? 60 : 4) {
                try run.disk.restore(files)
                let place = "\(script), \(count) calls, \(outcome)"
                do {
                    let found = try run.fixture.backend().load().values
                    #expect(run.possible.contains(found), "\(place): \(found), not one of \(run.possible)")
                    try expectUsable(run.fixture, found, place)
                } catch {
                    Issue.record(error, "\(place)")
                }
            }
        }
    }

    @Test("What a process commits after another one was killed survives a power failure", arguments: [Script.checkpoints, .long, .foreign])
    func afterKill(script: Script) throws {
        let all = try run(script, calls: .max)
        for count in CallRecorder.visitedCalls(all.disk.made, ifChangingFiles: true) {
            let run = try run(script, calls: count)
            let next = run.fixture.backend(script.mode, calls: run.disk.calls())
            var expected = try next.load().values
            expected["next"] = 1
            try next.set(["next": 1])
            let moment = try run.disk.moment()
            for (outcome, files) in moment.outcomes(random: isLong ? 60 : 4) {
                try run.disk.restore(files)
                let place = "\(script), \(count) calls, \(outcome)"
                do {
                    let found = try run.fixture.backend().load().values
                    #expect(found == expected, "\(place)")
                    try expectUsable(run.fixture, found, place)
                } catch {
                    Issue.record(error, "\(place)")
                }
            }
        }
    }

    /// Whoever opens the list next goes on with what was found.
    private func expectUsable(_ fixture: JournalFixture, _ found: Values, _ place: String) throws {
        let next = fixture.backend(.full(keeping: 256))
        try next.set(["later": true])
        let expected = found.merging(["later": true]) { $1 }
        #expect(try fixture.backend(.off).load().values == expected, "\(place)")
        try next.checkpoint()
        #expect(try fixture.stored() == expected, "\(place)")
        #expect(try fixture.backend().load().values == expected, "\(place)")
    }

    @Test("A commit during a checkpoint stays in the journal, also if that is replaced because it is long")
    func commitDuringCheckpoint() throws {
        let fixture = try JournalFixture(["a": 0])
        let other = fixture.backend()
        let isOn = Lock(false)
        let recorder = CallRecorder { _, name in
            guard name == "synchronize",
                isOn.take({ isOn in
                    defer { isOn = false }
                    return isOn
                })
            else { return nil }
            for number in 1...4 {
                do {
                    try other.set(["b": .integer(PropertyListInteger(Int64(number))), "c": .string(String(repeating: "x", count: 400))])
                    try other.set(["late \(number)": true])
                } catch {
                    Issue.record(error)
                }
            }
            return nil
        }
        let backend = fixture.backend(.full(keeping: 256), calls: recorder.calls)
        try backend.set(["a": 1])
        isOn.withLock { $0 = true }
        try backend.checkpoint()
        let expected = try other.load().values
        #expect(expected.count == 7)
        #expect(try fixture.backend().load().values == expected)
        #expect(try backend.load().values == expected)
    }

    @Test("A commit whose synchronization has failed is synchronized when it is tried again, also if nothing changes")
    func failedSynchronization() throws {
        let fixture = try JournalFixture(["a": 0])
        let disk = try PowerFailure(of: fixture.folder.url)
        let isFailing = Lock(false)
        var calls = disk.calls()
        let synchronizeData = calls.synchronizeData
        calls.synchronizeData = { descriptor throws(SystemError) in
            if isFailing.withLock({ $0 }) { throw SystemError(EIO) }
            try synchronizeData(descriptor)
        }
        let backend = fixture.backend(calls: calls)
        try backend.set(["a": 1])
        let inode = try FileIdentity(path: fixture.journal.path)?.inode
        isFailing.withLock { $0 = true }
        #expect(throws: StorageError.self) { try backend.set(["a": 2]) }
        isFailing.withLock { $0 = false }
        try backend.set(["a": 2])
        // The system may take the bytes that it has lost for written: they are in another file.
        #expect(try FileIdentity(path: fixture.journal.path)?.inode != inode)
        let moment = try disk.moment()
        for (outcome, files) in moment.outcomes(random: 10) {
            try disk.restore(files)
            #expect(try fixture.backend().load().values == ["a": 2], "\(outcome)")
        }
    }

    @Test(
        "A commit that follows one of another process, whose synchronization has failed, is durable with it", arguments: [false, true])
    func failedSynchronizationOfAnother(afterCheckpoint: Bool) throws {
        let fixture = try JournalFixture(["a": 0])
        let isFailing = Lock(false)
        var calls = FileSystemCalls.live
        let synchronizeData = calls.synchronizeData
        calls.synchronizeData = { descriptor throws(SystemError) in
            if isFailing.withLock({ $0 }) { throw SystemError(EIO) }
            try synchronizeData(descriptor)
        }
        let first = fixture.backend(calls: calls)
        try first.set(["a": 1])
        if afterCheckpoint { try first.checkpoint() }
        let pageSize = 4_096
        var medium = try Data(contentsOf: fixture.journal)
        isFailing.withLock { $0 = true }
        // Longer than a page, so that the next record does not write all of it again.
        #expect(throws: StorageError.self) { try first.set(["text": .string(String(repeating: "x", count: 3 * pageSize))]) }
        // The system now considers it written, and whoever opens the file is not told; it writes what is written from now on.
        let pages = Lock<Set<Int>>([])
        calls = .live
        let write = calls.writeBytesAt
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            pages.withLock { $0.formUnion(offset / pageSize...(offset + bytes.count - 1) / pageSize) }
            return try write(descriptor, bytes, offset)
        }
        let next = fixture.backend(calls: calls)
        try next.set(["b": 1])
        let expected = try next.load().values
        #expect(expected.count == 3)
        let cached = try Data(contentsOf: fixture.journal)
        #expect(cached.count == medium.count)
        for page in pages.withLock({ $0 }) {
            let range = page * pageSize..<min((page + 1) * pageSize, cached.count)
            medium.replaceSubrange(range, with: cached[range])
        }
        try fixture.damage(at: 0, medium)
        #expect(try fixture.backend().load().values == expected)
    }

    /// The calls of processes in some run of the system.
    private func calls(inRun boot: UInt64) -> FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.boot = boot
        return calls
    }

    @Test("A revision whose commit was lost is not continued by commits of the next run of the system, and those that remain are kept")
    func lostRevision() throws {
        let fixture = try JournalFixture(["a": 0])
        let before = fixture.backend(calls: calls(inRun: 1))
        let kept = try #require(try before.set(["a": 1]).revision)
        let journal = try Data(contentsOf: fixture.journal)
        let lost = try #require(try before.set(["a": 2]).revision)
        #expect(try before.journal.commits(since: kept)?.map(\.revision) == [lost])
        // What nobody has waited for is not on the disk.
        try fixture.damage(at: 0, journal)
        #expect(try fixture.backend(calls: calls(inRun: 2)).load().values == ["a": 1])
        let after = fixture.backend(calls: calls(inRun: 2))
        let first = try #require(try after.set(["b": 1]).revision)
        let second = try #require(try fixture.backend(calls: calls(inRun: 2)).set(["b": 2]).revision)
        #expect(try after.journal.commits(since: lost) == nil)
        #expect(try after.journal.commits(since: kept) == nil)
        #expect(try after.journal.commits(since: first)?.map(\.revision) == [second])
        #expect(
            try after.journal.commits(since: nil)?.map(\.edits) == [
                ["a": .init(from: 0, to: 1)], ["b": .init(from: nil, to: 1)], ["b": .init(from: 1, to: 2)],
            ])
        #expect(try fixture.backend(calls: calls(inRun: 3)).load().values == ["a": 1, "b": 2])
    }

    /// The log of a store whose process was killed in the first run.
    private func leaveLog(_ edits: [LoggedEdit], of list: ResolvedPath, in identity: FileIdentity) throws {
        let log = try EditLogFolder(list: list, calls: calls(inRun: 1)).makeLog(halfSize: 65_536)
        log.publish()
        for edit in edits { precondition(log.add(edit)) }
        log.markCommitted(upTo: 0, in: identity)
        withExtendedLifetime(log) {}
    }

    @Test("A log of the run before counts in the next one if nothing was committed since, also if the journal was continued first")
    func logOfEarlierRun() throws {
        let fixture = try JournalFixture(["a": 0])
        let before = fixture.backend(calls: calls(inRun: 1))
        try before.set(["a": 1])
        let identity = try #require(before.journal.known(of: fixture.list)).identity
        try leaveLog(EditLogFixture.chain("a", from: 1, [5]), of: fixture.list, in: identity)
        let after = fixture.backend(calls: calls(inRun: 2))
        _ = try after.journal.withJournal(of: try after.list.destination()) { _, _ in true }
        #expect(try after.load().values == ["a": 5])
        #expect(after.told.isEmpty)
    }

    @Test("A reader of the run before the first edit of the next one continues with it, without its lock")
    func readerAcrossRuns() throws {
        let fixture = try JournalFixture(["a": 0])
        try fixture.backend(calls: calls(inRun: 1)).set(["a": 1])
        let reader = fixture.backend(calls: calls(inRun: 2))
        let old = try #require(try reader.load().revision)
        try fixture.backend(calls: calls(inRun: 2)).set(["b": 1])
        let found = try reader.load()
        #expect(found.values == ["a": 1, "b": 1] && found.revision?.history != old.history && found.revision?.number == old.number + 1)
    }

    @Test("An edit that finds another process's commit, which is not synchronized yet, waits until it is")
    func unchanged() throws {
        let fixture = try JournalFixture(["a": 0])
        let disk = try PowerFailure(of: fixture.folder.url)
        try fixture.backend(calls: disk.calls()).set(["b": 1])
        var calls = disk.calls()
        calls.synchronizeData = { _ throws(SystemError) in throw SystemError(EIO) }
        #expect(throws: StorageError.self) { try fixture.backend(calls: calls).set(["a": 2]) }
        try fixture.backend(calls: disk.calls()).set(["a": 2])
        let moment = try disk.moment()
        for (outcome, files) in moment.outcomes(random: 10) {
            try disk.restore(files)
            #expect(try fixture.backend().load().values == ["a": 2, "b": 1], "\(outcome)")
        }
    }
}

extension JournalFixture {
    /// Puts a list in place as a program does that may synchronize the file, but not the folder.
    fileprivate func write(_ entries: [String: PropertyListValue], synchronized: Bool, on disk: PowerFailure) throws {
        let live = FileSystemCalls.live
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        let temporary = ResolvedPath("foreign.tmp", in: folder.url.path)
        try bytes.write(to: URL(fileURLWithPath: temporary.path))
        disk.look()
        if synchronized {
            disk.noteSynchronized(try live.statusOfPath(temporary, false))
        }
        try live.renameFile(temporary, ResolvedPath(splitting: file.path))
        disk.look()
    }
}
