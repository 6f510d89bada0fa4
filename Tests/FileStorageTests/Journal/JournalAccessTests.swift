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

    @Test("A list whose mode is loosened has a journal of that mode after the next commits, which continues its history")
    func loosened() throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: fixture.file.path)
        let (backend, other) = (fixture.backend(), fixture.backend(.off))
        let first = try #require(try backend.set(["a": 2]).revision)
        #expect(try other.load().values == ["a": 2])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: fixture.file.path)
        try backend.set(["a": 3])
        #expect(try FileManager.default.attributesOfItem(atPath: fixture.journal.path)[.posixPermissions] as? Int == 0o644)
        #expect(try other.load().values == ["a": 3])
        #expect(try other.journal.commits(since: first)?.map { $0.edits["a"]?.newValue } == [3])
        // Once is enough.
        let inode = try FileIdentity(path: fixture.journal.path)?.inode
        try backend.set(["a": 4])
        try other.set(["a": 5])
        #expect(try FileIdentity(path: fixture.journal.path)?.inode == inode)
    }

    @Test("A list without permissions is the reason if no journal can be made with them")
    func withoutPermissions() throws {
        let fixture = try JournalFixture(["a": 1])
        let fails = Lock(false)
        let recorder = CallRecorder { _, name in name == "rename" && fails.withLock { $0 } ? EACCES : nil }
        let backend = fixture.backend(calls: recorder.calls)
        try backend.set(["a": 2])
        fails.withLock { $0 = true }
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: fixture.file.path)
        #expect(throws: StorageError.unwritable(file: fixture.file.path, reason: "is read-only for everyone (mode 00)")) {
            try backend.set(["a": 3])
        }
    }

    @Test("A list is looked at again before a commit whose closure has run under the lock")
    func readOnlySince() throws {
        let fixture = try JournalFixture(["a": 1])
        let other = fixture.backend()
        let isDue = Lock(false)
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            guard isDue.exchange(false) else { return try FileSystemCalls.live.lock(descriptor) }
            // Another process has the lock, and commits meanwhile.
            do { try other.set(["b": 1]) } catch { Issue.record(error) }
            throw SystemError(EWOULDBLOCK)
        }
        let backend = fixture.backend(calls: calls)
        try backend.set(["a": 2])
        var runs = 0
        #expect(throws: StorageError.unwritable(file: fixture.file.path, reason: "is read-only for everyone (mode 0444)")) {
            try backend.edit { entries in
                runs += 1
                if runs == 1 {
                    isDue.exchange(true)
                } else {
                    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.file.path)
                }
                entries["a"] = 3
            }
        }
        #expect(runs == 2)
        #expect(try other.load().values == ["a": 2, "b": 1])
    }

    /// Denies a user to open the journal.
    private final class Denial: Sendable {
        let isOn: Lock<Bool>

        init(isOn: Bool) {
            self.isOn = Lock(isOn)
        }

        func calls(_ fixture: JournalFixture) -> FileSystemCalls {
            var calls = FileSystemCalls.live
            calls.openDescriptor = { [journal = fixture.list.journal.name] path, flags, mode throws(SystemError) in
                if path.name == journal, self.isOn.withLock({ $0 }) { throw SystemError(EACCES) }
                return try FileSystemCalls.live.openDescriptor(path, flags, mode)
            }
            return calls
        }
    }

    @Test("Who may read a list and not its journal reads the list, and is told once", arguments: [StorageAccess.readOnly, .readWrite])
    func denied(access: StorageAccess) throws {
        let fixture = try JournalFixture(["a": 1])
        let writer = fixture.backend()
        try writer.set(["a": 2])
        try writer.checkpoint()
        let denial = Denial(isOn: true)
        let reader = PropertyListFile(
            at: fixture.file, configuration: .with { ($0.lockTimeout, $0.access) = (.seconds(500), access) }, calls: denial.calls(fixture))
        for _ in 0..<2 { #expect(try reader.load().values == ["a": 2]) }
        #expect(reader.told.count == 1)
        #expect(reader.told.allSatisfy { "\($0)".contains(fixture.journal.path) && "\($0)".contains("permissions of the property list") })
        try writer.set(["a": 3])
        #expect(try reader.load().values == ["a": 2])
        // It does not know what the list lacks, and could undo it.
        #expect(throws: StorageError.self) { try reader.set(["b": 1]) }
        #expect(try fixture.stored() == ["a": 2])
        denial.isOn.withLock { $0 = false }
        #expect(try reader.load().values == ["a": 3])
        #expect(reader.told.count == 1)
    }

    @Test("Who may not read a journal any more does not go back to an older list")
    func deniedLater() throws {
        let fixture = try JournalFixture(["a": 1])
        let denial = Denial(isOn: false)
        let (writer, reader) = (fixture.backend(), fixture.backend(.off, calls: denial.calls(fixture)))
        try writer.set(["b": 2])
        #expect(try reader.load().values == ["a": 1, "b": 2])
        denial.isOn.withLock { $0 = true }
        // The journal is made again.
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: fixture.file.path)
        try writer.set(["c": 3])
        #expect(try reader.load().values == ["a": 1, "b": 2])
        try writer.checkpoint()
        #expect(try reader.load().values == ["a": 1, "b": 2, "c": 3])
    }

    @Test("A list that is marked as read-only takes no commit", arguments: [JournalMode.off, .full()])
    func readOnly(mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.file.path)
        #expect(throws: StorageError.self) { try fixture.backend(mode).set(["a": 2]) }
        #expect(try fixture.backend().load().values == ["a": 1])
    }

    /// Checks that a backend has told what stands at the journal's path, once, with the remedy.
    private func expectTold(_ backend: PropertyListFile, _ reason: String) {
        #expect(backend.told.count == 1)
        #expect(backend.told.allSatisfy { "\($0)".contains(reason) && "\($0)".contains("remove it") }, "\(backend.told)")
    }

    private static let occupants = ["a symbolic link", "a link to itself", "a named pipe", "a folder"]

    private func occupy(_ path: String, by occupant: String) throws {
        switch occupant {
        case "a symbolic link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/none/at/all")
        case "a link to itself": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        case "a named pipe": #expect(mkfifo(path, 0o600) == 0)
        default: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
    }

    @Test(
        "What is no file at the journal's path keeps nobody from reading and writing, and is told with the remedy",
        arguments: occupants, [JournalMode.off, .full()])
    func occupied(occupant: String, mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        let path = fixture.journal.path
        try occupy(path, by: occupant)
        let backend = fixture.backend(mode)
        #expect(try backend.load().values == ["a": 1])
        #expect(try backend.set(["a": 2]).values == ["a": 2])
        try backend.checkpoint()
        #expect(try fixture.stored() == ["a": 2])
        expectTold(backend, "is not used as the journal")
        let reader = PropertyListFile(at: fixture.file, access: .readOnly)
        #expect(try reader.load().values == ["a": 2])
        expectTold(reader, "is not used as the journal")
        // What is in the way is not removed.
        #expect(try FileSystemCalls.live.status(at: path)?.kind != .file)
    }

    @Test(
        "A store whose journal is replaced by something else has its commits stored in the list, and continues without one",
        arguments: occupants, ["load", "edit", "checkpoint"])
    func occupiedLater(occupant: String, step: String) throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        try backend.set(["b": 2])
        let reader = PropertyListFile(at: fixture.file, access: .readOnly)
        #expect(try reader.load().values == ["a": 1, "b": 2])
        #expect(try fixture.stored() == ["a": 1])
        try FileManager.default.removeItem(at: fixture.journal)
        try occupy(fixture.journal.path, by: occupant)
        switch step {
        case "load": #expect(try backend.load().values == ["a": 1, "b": 2])
        case "edit": #expect(try backend.set(["a": 1]).values == ["a": 1, "b": 2])
        default: try backend.checkpoint()
        }
        #expect(try fixture.stored() == ["a": 1, "b": 2])
        try backend.set(["c": 3])
        #expect(try fixture.stored() == ["a": 1, "b": 2, "c": 3])
        #expect(!backend.needsCheckpoint)
        #expect(try reader.load().values == ["a": 1, "b": 2, "c": 3])
        expectTold(reader, "is not used as the journal")
        expectTold(backend, "is not used as the journal")
    }

    @Test("A hard link to another list's journal is not written")
    func hardLink() throws {
        let (fixture, other) = (try JournalFixture(["a": 1]), try JournalFixture(["a": 1]))
        try other.backend().set(["x": 1])
        #expect(link(other.journal.path, fixture.journal.path) == 0)
        try fixture.backend().set(["injected": true])
        #expect(try other.backend().load().values == ["a": 1, "x": 1])
    }

    @Test(
        "Another user's journal does not count, which is told, and the list is written without it", .enabled(if: geteuid() == 0),
        arguments: [JournalMode.off, .full()])
    func untrusted(mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        #expect(chown(fixture.journal.path, 12_345, 12_345) == 0)
        let backend = fixture.backend(mode)
        #expect(try backend.load().values == ["a": 1])
        try backend.set(["b": 3])
        #expect(try fixture.stored() == ["a": 1, "b": 3])
        expectTold(backend, "user 12345")
    }

    @Test("What is no journal is told with what becomes of it", arguments: [JournalMode.off, .full()])
    func nonsense(mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1])
        try Data("nonsense".utf8).write(to: fixture.journal)
        let backend = fixture.backend(mode)
        #expect(try backend.load().values == ["a": 1])
        #expect(try backend.set(["b": 2]).values == ["a": 1, "b": 2])
        let reason = """
            it does not start with the header of a journal (byte 0); \(fixture.list.name) is read without it, and its next write replaces it
            """
        #expect(backend.told == [.unreadable(file: fixture.journal.path, reason: reason)])
        #expect(try !Data(contentsOf: fixture.journal).starts(with: Data("nonsense".utf8)))
        #expect(try fixture.backend(.off).load().values == ["a": 1, "b": 2])
    }

    /// A reader of a list whose calls see some files as another user's.
    private func reader(_ fixture: JournalFixture, seeing others: [String]) throws -> PropertyListFile {
        let inodes = Set(try others.compactMap { try FileSystemCalls.live.status(at: $0)?.identity.inode })
        let calls = FileSystemCalls.live.seeing { if inodes.contains($0.identity.inode) { $0.owner = 65_534 } }
        return PropertyListFile(at: fixture.file, configuration: .with { $0.access = .readOnly }, calls: calls)
    }

    @Test("A journal counts if it belongs to the owner of the list; without a list, another user's is not told")
    func owners() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        let stranger = try reader(fixture, seeing: [fixture.journal.path])
        #expect(try stranger.load().values == ["a": 1])
        expectTold(stranger, "user 65534")
        let owner = try reader(fixture, seeing: [fixture.journal.path, fixture.file.path])
        #expect(try owner.load().values == ["a": 2])
        #expect(owner.told.isEmpty)
        let early = try reader(fixture, seeing: [fixture.journal.path])
        try FileManager.default.removeItem(at: fixture.file)
        #expect(try early.load().values.isEmpty)
        #expect(early.told.isEmpty)
    }

    @Test("What another user puts in place of a journal after it was looked at is not read", arguments: [false, true])
    func exchanged(isPipe: Bool) throws {
        let fixture = try JournalFixture(["a": 1])
        if isPipe {
            try #require(mkfifo(fixture.journal.path, 0o600) == 0)
        } else {
            try fixture.backend().set(["a": 2])
        }
        let inode = try FileIdentity(path: fixture.journal.path)?.inode
        let live = FileSystemCalls.live
        var calls = live
        calls.untimedStatus = { [fixture] folder, name throws(SystemError) in
            // Still a file of this user's.
            if name.hasSuffix(fixture.list.journal.name) { return try live.untimedStatus(AT_FDCWD, fixture.file.path) }
            return try live.untimedStatus(folder, name)
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            var status = try live.statusOfDescriptor(descriptor)
            if !isPipe, status.identity.inode == inode { status.owner = 65_534 }
            return status
        }
        let reader = PropertyListFile(at: fixture.file, configuration: .with { $0.access = .readOnly }, calls: calls)
        #expect(try reader.load().values == ["a": 1])
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
