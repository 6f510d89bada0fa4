import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Who may read and write a journal, and what stands at its path instead of one.
@Suite("Access to the journal", .timeLimit(.minutes(10)))
struct JournalAccessTests {
    @Test("A list whose mode is tightened has a journal of that mode after the next commits")
    func tightened() throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: fixture.file.path)
        let backend = fixture.backend()
        try backend.set(["a": 2])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: fixture.file.path)
        try backend.set(["password": "secret"])
        try backend.checkpoint()
        let mode = try FileManager.default.attributesOfItem(atPath: fixture.journal.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("A list that is marked as read-only takes no commit", arguments: [JournalMode.off, .full()])
    func readOnly(mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.file.path)
        #expect(throws: StorageError.self) { try fixture.backend(mode).set(["a": 2]) }
        #expect(try fixture.backend().load().values == ["a": 1])
    }

    @Test(
        "What is no file at the journal's path keeps nobody from reading and writing",
        arguments: ["loop", "dangling", "FIFO"], [JournalMode.off, .full()])
    func planted(kind: String, mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        let path = fixture.journal.path
        switch kind {
        case "loop": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        case "dangling": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/none/at/all")
        default: #expect(mkfifo(path, 0o600) == 0)
        }
        let backend = fixture.backend(mode)
        #expect(try backend.load().values == ["a": 1])
        #expect(try backend.set(["a": 2]).values == ["a": 2])
        if mode == .off { #expect(try fixture.stored() == ["a": 2]) }
    }

    @Test("A folder at the journal's path is an error for commits that need a journal, and for no others")
    func folder() throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.createDirectory(atPath: fixture.journal.path, withIntermediateDirectories: true)
        #expect(try fixture.backend().load().values == ["a": 1])
        #expect(throws: StorageError.self) { try fixture.backend().set(["a": 2]) }
        try fixture.backend(.off).set(["a": 2])
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("A hard link to another list's journal is not written")
    func hardLink() throws {
        let (fixture, other) = (try JournalFixture(["a": 1]), try JournalFixture(["a": 1]))
        try other.backend().set(["x": 1])
        #expect(link(other.journal.path, fixture.journal.path) == 0)
        try fixture.backend().set(["injected": true])
        #expect(try other.backend().load().values == ["a": 1, "x": 1])
    }

    @Test("Another user's journal does not count, and the list is written without it", .enabled(if: geteuid() == 0))
    func untrusted() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        #expect(chown(fixture.journal.path, 12_345, 12_345) == 0)
        let backend = fixture.backend(.off)
        #expect(try backend.load().values == ["a": 1])
        try backend.set(["b": 3])
        #expect(try fixture.stored() == ["a": 1, "b": 3])
    }

    @Test("A list that is a layer of a store is only read, and so is its journal")
    func layer() throws {
        let (fixture, own) = (try JournalFixture(["a": 1]), try JournalFixture())
        try fixture.backend().set(["a": 2])
        try fixture.write(["a": 1, "b": 9])
        let before = try Data(contentsOf: fixture.journal)
        _ = try ObservableStore(at: own.file, defaults: [], mandatory: [fixture.file])
        #expect(try Data(contentsOf: fixture.journal) == before)
    }
}
