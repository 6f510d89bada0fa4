import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("A malformed list that is moved aside", .timeLimit(.minutes(10)))
struct QuarantineTests {
    private let fixture: JournalFixture

    /// A list, and a journal with commits that the list lacks.
    init() throws {
        fixture = try JournalFixture(["a": 1, "k": 0])
        let one = fixture.backend()
        try one.set(["b": 2, "a": 2])
        try one.checkpoint()
        try one.set(["b": 3, "c": "text"])
        _ = try one.edit { try $0.set(5, at: EntryName(own: "d", path: ["x"])) }
        try one.set(["k": nil])
    }

    private static let edits: [String: PropertyListValue] = ["b": 3, "c": "text", "d": ["x": 5]]

    private func damageList() throws {
        try Self.damage(fixture.file)
    }

    private static func damage(_ file: URL) throws {
        try Data("precious".utf8).write(to: file)
        // An old file is not treated as one that is being written.
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file.path)
    }

    private func backend(_ journal: JournalMode = .full(), calls: FileSystemCalls = .live) -> PropertyListFile {
        Self.backend(fixture, journal, calls: calls)
    }

    private static func backend(
        _ fixture: JournalFixture, _ journal: JournalMode = .full(), calls: FileSystemCalls = .live
    ) -> PropertyListFile {
        PropertyListFile(
            at: fixture.file,
            configuration: .with { ($0.lockTimeout, $0.journal, $0.onCorruption) = (.seconds(500), journal, .quarantine) }, calls: calls)
    }

    private func quarantined() throws -> [Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter { $0.contains(".corrupt-") }
        return try names.map { try Data(contentsOf: fixture.folder.file($0)) }
    }

    @Test("The commits of the journal that it did not have are kept", arguments: [JournalMode.full(), .off], [true, false])
    func commits(mode: JournalMode, isEdited: Bool) throws {
        try damageList()
        let next = backend(mode)
        #expect(try isEdited ? next.edit { $0["e"] = 1 }.values == Self.edits.merging(["e": 1]) { $1 } : next.load().values == Self.edits)
        #expect(try quarantined() == [Data("precious".utf8)])
        #expect(next.told.map(\.description).contains { $0.contains("edits of its journal") })
        if isEdited { _ = try next.edit { $0["e"] = nil } }
        #expect(try fixture.backend().load().values == Self.edits)
        try next.checkpoint()
        #expect(try fixture.stored() == Self.edits)
    }

    @Test("They are kept whichever call fails, as if the process was killed, beside any journal", arguments: Fault.all, 0..<4)
    func failures(fault: Fault, situation: Int) throws {
        let plan = FaultPlan()
        var (failing, names) = (0, [String]())
        repeat {
            let test = try QuarantineTests()
            var calls = plan.calls
            calls.boot = try test.disturbJournal(situation).boot
            try test.damageList()
            plan.begin(fault.at(failing))
            let values = Result { [calls] in try test.backend(calls: calls).load().values }
            names = plan.end()
            if case .success(let values) = values { #expect(values == Self.edits) }
            #expect(try test.backend().load().values == Self.edits, "\(names.prefix(failing + 1))")
            #expect(try test.quarantined() == [Data("precious".utf8)])
            failing += 1
        } while failing < names.count
        #expect(plan.openDescriptors.isEmpty)
    }

    /// Makes the journal a copy, one that ends with an incomplete record, or one of another run of the system than that of the calls.
    private func disturbJournal(_ situation: Int) throws -> FileSystemCalls {
        var calls = FileSystemCalls.live
        switch situation {
        case 0:
            let copy = fixture.folder.file("copy")
            try FileManager.default.copyItem(at: fixture.journal, to: copy)
            try FileManager.default.removeItem(at: fixture.journal)
            try FileManager.default.moveItem(at: copy, to: fixture.journal)
        case 1: try fixture.damage(at: fixture.journalEnd(), Data("half".utf8))
        case 2: calls.boot ^= 1
        default: break
        }
        return calls
    }

    @Test(
        "They are kept if the journal is a copy, ends with an incomplete record, or is older than the run of the system", arguments: 0..<3)
    func otherJournal(situation: Int) throws {
        let calls = try disturbJournal(situation)
        try damageList()
        #expect(try backend(calls: calls).load().values == Self.edits)
        let next = fixture.backend()
        #expect(try next.load().values == Self.edits)
        try next.checkpoint()
        #expect(try fixture.stored() == Self.edits)
        #expect(try quarantined() == [Data("precious".utf8)])
    }

    @Test("They apply to a list that is repaired while another journal is made", arguments: 0..<3)
    func repairedBesideOtherJournal(situation: Int) throws {
        var calls = try disturbJournal(situation)
        try damageList()
        let isRepaired = Lock(false)
        calls.synchronize = { [fixture] descriptor throws(SystemError) in
            try FileSystemCalls.live.synchronize(descriptor)
            guard !isRepaired.exchange(true) else { return }
            do { try fixture.write(["a": 2, "b": 2, "k": 0, "z": 9]) } catch { Issue.record(error) }
        }
        let next = backend(calls: calls)
        let merged = Self.edits.merging(["a": 2, "z": 9]) { $1 }
        #expect(try next.load().values == merged)
        #expect(isRepaired.withLock { $0 })
        #expect(try quarantined() == [])
        try next.checkpoint()
        #expect(try fixture.stored() == merged)
    }

    @Test("A list that is repaired meanwhile stays in place", arguments: [JournalMode.full(), .off])
    func repaired(mode: JournalMode) throws {
        try damageList()
        var calls = FileSystemCalls.live
        let isRepaired = Lock(false)
        calls.synchronizeData = { [fixture] descriptor throws(SystemError) in
            try FileSystemCalls.live.synchronizeData(descriptor)
            guard !isRepaired.exchange(true) else { return }
            do { try fixture.write(["z": 9]) } catch { Issue.record(error) }
        }
        let next = backend(mode, calls: calls)
        #expect(try next.load().values["z"] == 9)
        #expect(isRepaired.withLock { $0 })
        #expect(try fixture.stored() == ["z": 9])
        #expect(try quarantined() == [])
        #expect(next.told.isEmpty)
    }

    @Test("Logs of dead stores do not beat later edits of a list that is in place again")
    func placedAgain() throws {
        try fixture.backend().checkpoint()
        try damageList()
        let next = backend()
        #expect(try next.load().values.isEmpty)
        let other = fixture.backend()
        try other.set(["a": 5])
        try other.checkpoint()
        #expect(try next.load().values == ["a": 5])
        try other.set(["a": nil])
        try EditLogFolder(list: fixture.list, calls: .live).leaveLog(EditLogFixture.chain("a", from: 5, [6]))
        try next.set(["x": 1])
        #expect(try next.load().values == ["x": 1])
        #expect(next.told.contains { if case .conflict = $0 { true } else { false } })
    }

    @Test("The edits in logs of dead stores are kept, too: the values before them are not known", arguments: [JournalMode.off, .full()])
    func deadStores(mode: JournalMode) throws {
        if mode == .off {
            try fixture.backend().checkpoint()
            try FileManager.default.removeItem(at: fixture.journal)
        }
        let logs = EditLogFolder(list: fixture.list, calls: .live)
        try logs.leaveLog(EditLogFixture.chain("a", from: 2, [3, 4]))
        try logs.leaveLog(EditLogFixture.chain("d", from: 5, [6], path: ["x"]))
        try damageList()
        let next = backend(mode)
        let kept: [String: PropertyListValue] = ["a": 4, "d": ["x": 6]]
        #expect(try next.load().values == (mode == .off ? kept : Self.edits.merging(kept) { $1 }))
        #expect(!next.told.contains { if case .conflict = $0 { true } else { false } })
        #expect(try quarantined() == [Data("precious".utf8)])
    }

    @Test("Another process keeps the edits in logs of dead stores as well, but not those over a deleted list", arguments: [true, false])
    func deadStoresOfOthers(isDeleted: Bool) throws {
        if isDeleted {
            try FileManager.default.removeItem(at: fixture.file)
            try fixture.backend(calls: .withoutPauses).set(["x": 1])
        } else {
            try damageList()
            #expect(try backend().load().values == Self.edits)
        }
        try EditLogFolder(list: fixture.list, calls: .live).leaveLog(EditLogFixture.chain("a", from: 2, [3, 4]))
        let other = fixture.backend(calls: .withoutPauses)
        try other.set(["y": 2])
        #expect(try other.load().values == (isDeleted ? ["x": 1, "y": 2] : Self.edits.merging(["a": 4, "y": 2]) { $1 }))
        #expect(other.told.contains { if case .conflict = $0 { true } else { false } } == isDeleted)
    }

    @Test("Another process that keeps the last values of a deleted list says whether these are kept", arguments: [true, false])
    func lastValues(isJournaled: Bool) throws {
        let mode = isJournaled ? JournalMode.full() : .off
        if !isJournaled {
            try fixture.backend().checkpoint()
            try FileManager.default.removeItem(at: fixture.journal)
        }
        let other = fixture.backend(mode, onDeletion: .keepLastValues, calls: .withoutPauses)
        let values = try other.load().values
        let errors = Recorder<StorageError>()
        let token = other.list.reports.subscribe { errors.record($0) }
        try damageList()
        _ = try backend(mode).load()
        for _ in 0..<2 { #expect(try other.load().values == (isJournaled ? Self.edits : values)) }
        let outcome = isJournaled ? "its last values are not kept" : "its last values are kept in memory"
        #expect(errors.elements.count == 1 && errors.elements.allSatisfy { $0.description.contains(outcome) }, "\(errors.elements)")
        try other.set(["y": 2])
        try other.checkpoint()
        #expect(try fixture.stored() == (isJournaled ? Self.edits : values).merging(["y": 2]) { $1 })
        token.cancel()
    }

    @Test("The edits in logs of dead stores are kept by all, also if the journal is made afterwards", arguments: [true, false])
    func journalMadeAfterwards(isOther: Bool) throws {
        let fixture = try JournalFixture(["a": 2])
        try Self.damage(fixture.file)
        let mover = Self.backend(fixture)
        #expect(try mover.load().values == [:])
        try EditLogFolder(list: fixture.list, calls: .live).leaveLog(EditLogFixture.chain("a", from: 2, [3, 4]))
        let writer = isOther ? fixture.backend(calls: .withoutPauses) : mover
        try writer.set(["y": 1])
        #expect(try writer.load().values == ["a": 4, "y": 1])
        #expect(writer.told.isEmpty || writer === mover)
    }

    @Test("Last values that were kept in memory, and are not any more, are told", arguments: [true, false])
    func lastValuesGivenUp(isMoved: Bool) throws {
        let fixture = try JournalFixture(["a": 2])
        let other = fixture.backend(isMoved ? .off : .full(), onDeletion: .keepLastValues, calls: .withoutPauses)
        #expect(try other.load().values == ["a": 2])
        let errors = Recorder<StorageError>()
        let token = other.list.reports.subscribe { errors.record($0) }
        if isMoved {
            try Self.damage(fixture.file)
            #expect(try Self.backend(fixture).load().values == [:])
            #expect(try other.load().values.isEmpty)
        } else {
            try FileManager.default.removeItem(at: fixture.file)
            #expect(try other.load().values == ["a": 2])
            try fixture.backend(calls: .withoutPauses).set(["x": 1])
            #expect(try other.load().values == ["x": 1])
        }
        #expect(errors.elements.last.map { "\($0)".contains("its last values are not kept") } == true, "\(errors.elements)")
        #expect(errors.elements.count == (isMoved ? 1 : 2))
        token.cancel()
    }

    /// The system's calls for a user who may not open the journal, or for another one than the owner of list and journal.
    private func otherUser(isDenied: Bool) throws -> FileSystemCalls {
        var calls = FileSystemCalls.live
        let journal = fixture.list.journal.name
        let inodes = [fixture.file.path, fixture.journal.path].map { calls.statusOrNil(at: ResolvedPath(splitting: $0))?.identity.inode }
        guard isDenied else { return calls.seeing { if inodes.contains($0.identity.inode) { $0.owner = 65_534 } } }
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if path.name == journal { throw SystemError(EACCES) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        return calls
    }

    @Test(
        "It stays in place if edits of the journal would be lost, because this user cannot open it, or it counts only beside the list",
        arguments: [true, false])
    func journalOfAnotherUser(isDenied: Bool) throws {
        try damageList()
        let next = try backend(calls: otherUser(isDenied: isDenied))
        for isEdited in [false, true, false] {
            let error = #expect(throws: StorageError.self) { try isEdited ? next.set(["e": 1]) : next.load() }
            #expect(error.map { "\($0)".contains(fixture.journal.path) } == true, "\(String(describing: error))")
            if !isEdited { #expect(error.map { "\($0)".contains("not moved aside") && "\($0)".contains("remove the journal") } == true) }
        }
        #expect(try Data(contentsOf: fixture.file) == Data("precious".utf8))
        #expect(try quarantined() == [])
        // The lock file may belong to the other user.
        try FileManager.default.removeItem(at: fixture.folder.file(".settings.plist.lock"))
        #expect(try backend().load().values == Self.edits)
        #expect(try quarantined() == [Data("precious".utf8)])
    }

    @Test("Beside another user's journal, it is moved aside if the list had every edit")
    func storedJournalOfAnotherUser() throws {
        try fixture.backend().checkpoint()
        try damageList()
        #expect(try backend(calls: otherUser(isDenied: false)).load().values.isEmpty)
        #expect(try quarantined() == [Data("precious".utf8)])
    }

    @Test("That the changes are not known is recorded once, so that later commits are")
    func gap() throws {
        try damageList()
        let isMoved = Lock(false)
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            try FileSystemCalls.live.renameFile(from, to)
            if to.name.contains(".corrupt-") { isMoved.withLock { $0 = true } }
        }
        calls.synchronize = { descriptor throws(SystemError) in
            if isMoved.withLock({ $0 }) { throw SystemError(EIO) }
            try FileSystemCalls.live.synchronize(descriptor)
        }
        #expect(try backend(calls: calls).load().values == Self.edits)
        let next = fixture.backend()
        let before = try next.load().revision
        try next.set(["e": 1])
        try next.checkpoint()
        #expect(try next.journal.commits(since: nil)?.map { Array($0.edits.keys) } == [["e"]])
        #expect(try next.journal.commits(since: before)?.count == 1)
    }

    @Test("If it cannot be moved, that is recorded once, however often it is tried")
    func notMoved() throws {
        try damageList()
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if to.name.contains(".corrupt-") { throw SystemError(EPERM) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        for _ in 0..<3 { #expect(throws: StorageError.self) { try backend(calls: calls).load() } }
        func announcements() throws -> Int {
            try fixture.records().count { if case .list(let list) = $0 { list.isQuarantined } else { false } }
        }
        #expect(try announcements() == 1)
        #expect(try backend().load().values == Self.edits)
        #expect(try announcements() == 1)
        #expect(try quarantined() == [Data("precious".utf8)])
        #expect(try fixture.backend().load().values == Self.edits)
    }
}
