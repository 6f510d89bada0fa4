import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("What a list and its journal mean, as they were found", .timeLimit(.minutes(10))) struct JournalFindingsTests {
    /// What is next without the list, and what is after it was read.
    struct Steps: Equatable {
        let first: String
        let second: String

        init(_ first: String, _ second: String? = nil) {
            (self.first, self.second) = (first, second ?? first)
        }
    }

    /// A journal with a commit that its list lacks, one of another history, and a copy.
    private let (own, other): (JournalFixture, JournalFixture)
    private let (pending, written, foreign, copy): (JournalState, JournalState, JournalState, JournalState)
    private let (list, otherList): (FileIdentity, FileIdentity)

    init() throws {
        (own, other) = (try JournalFixture(["count": 1]), try JournalFixture(["count": 1]))
        let backend = own.backend()
        _ = try backend.set(["count": 2])
        pending = try Self.state(of: own)
        try backend.checkpoint()
        written = try Self.state(of: own)
        _ = try other.backend().set(["count": 3])
        foreign = try Self.state(of: other)
        let copied = try JournalFixture(["count": 1])
        try FileManager.default.copyItem(at: own.journal, to: copied.journal)
        copy = try Self.state(of: copied)
        list = try #require(try FileIdentity(at: own.list, calls: .live))
        otherList = try #require(try FileIdentity(at: other.list, calls: .live))
    }

    private static func state(of fixture: JournalFixture) throws -> JournalState {
        let file = try #require(try JournalFile.open(of: fixture.list, calls: .live))
        return JournalState(file, try file.records(), after: nil)
    }

    private func steps(
        known: JournalState? = nil, journal: JournalState? = nil, list: FileIdentity?, isReadOnly: Bool = false,
        bytes: Data? = nil
    ) throws -> Steps {
        let findings = JournalFindings(known: known, list: list, journal: journal, isReadOnly: isReadOnly)
        let content = FileContent(
            identity: list, bytes: try bytes ?? list.map { try Data(contentsOf: ($0 == otherList ? other : own).file) } ?? Data(),
            entries: StorageEntries(["count": 7]), format: .binary, lookedAt: .distantPast)
        return Steps(Self.name(findings.next()), Self.name(findings.next(content)))
    }

    private static func name(_ step: JournalFindings.Step) -> String {
        switch step {
        case .readList(mayReturn: true): "wait"
        case .readList(mayReturn: false): "read"
        case .found(.none): "none"
        case .found(.current): "current"
        case .found(.foreign): "foreign"
        case .found(.lost): "lost"
        case .found(.replaced): "replaced"
        case .found(.copied): "copied"
        }
    }

    @Test("Without a journal, what was known of it counts; for who only reads, only with the list that it was for, or without one")
    func missingJournal() throws {
        #expect(try steps(list: list) == Steps("none"))
        #expect(try steps(list: nil) == Steps("none"))
        for list in [list, otherList, nil] { #expect(try steps(known: written, list: list) == Steps("read", "lost")) }
        #expect(try steps(known: written, list: list, isReadOnly: true) == Steps("read", "lost"))
        #expect(try steps(known: written, list: nil, isReadOnly: true) == Steps("read", "lost"))
        #expect(try steps(known: written, list: otherList, isReadOnly: true) == Steps("none"))
    }

    @Test("A list that the journal announced is current; its values are read once")
    func current() throws {
        #expect(try steps(journal: written, list: list) == Steps("read", "current"))
        var read = written
        let journaled = try #require(read.list(list))
        read.load(StorageEntries(["count": 2]), of: journaled)
        #expect(try steps(known: read, journal: read, list: list) == Steps("current"))
        guard case .found(.current(let state)) = JournalFindings(known: nil, list: list, journal: read, isReadOnly: false).next() else {
            Issue.record("not current")
            return
        }
        #expect(state.entries?["count"] == 2)
    }

    @Test("A list that looks the same, but whose status was changed, or that is read first, is current if its bytes are the same")
    func overwritten() throws {
        let bytes = Data(repeating: 7, count: Int(list.size))
        #expect(try steps(journal: written, list: list, bytes: bytes) == Steps("read", "foreign"))
        var read = written
        read.load(StorageEntries(["count": 2]), of: try #require(read.list(list)))
        read.found = list
        #expect(try steps(known: read, journal: read, list: list) == Steps("current"))
        let changed = FileIdentity(
            device: list.device, inode: list.inode, size: list.size, modified: list.modified, changed: list.changed + 1)
        #expect(try steps(known: read, journal: read, list: changed) == Steps("read", "current"))
        #expect(try steps(known: read, journal: read, list: changed, bytes: bytes) == Steps("read", "foreign"))
        #expect(try steps(known: pending, journal: foreign, list: otherList, bytes: bytes) == Steps("read", "replaced"))
    }

    @Test("Another list is foreign; one that is missing may be put in place by an editor")
    func foreignList() throws {
        for known in [nil, written] {
            #expect(try steps(known: known, journal: written, list: otherList) == Steps("read", "foreign"))
            #expect(try steps(known: known, journal: written, list: nil) == Steps("wait", "foreign"))
        }
    }

    @Test("Another journal replaces one with edits that no list has; for who only reads, only with the list that it was for")
    func replaced() throws {
        #expect(pending.needsCheckpoint && !written.needsCheckpoint)
        #expect(try steps(known: pending, journal: foreign, list: list) == Steps("replaced"))
        #expect(try steps(known: pending, journal: foreign, list: otherList) == Steps("read", "replaced"))
        #expect(try steps(known: pending, journal: foreign, list: nil) == Steps("replaced"))
        #expect(try steps(known: pending, journal: foreign, list: otherList, isReadOnly: true) == Steps("read", "current"))
        #expect(try steps(known: written, journal: foreign, list: otherList) == Steps("read", "current"))
        #expect(try steps(known: written, journal: foreign, list: list) == Steps("read", "foreign"))
        // The same history: nothing is lost.
        #expect(try steps(known: pending, journal: written, list: list) == Steps("read", "current"))
    }

    @Test("A copy of a journal counts only if nothing is known of the one that it has replaced")
    func copied() throws {
        #expect(copy.file.isCopy)
        #expect(try steps(journal: copy, list: list) == Steps("read", "copied"))
        #expect(try steps(known: written, journal: copy, list: otherList) == Steps("read", "lost"))
        #expect(try steps(known: written, journal: copy, list: otherList, isReadOnly: true) == Steps("read", "copied"))
    }
}
