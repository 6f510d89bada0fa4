import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Writers of a journal that hold different lock files, because a program that cleans up temporary folders has removed one.
@Suite("Locks of a journal", .timeLimit(.minutes(10)))
struct JournalLockTests {
    private let fixture: JournalFixture

    init() throws {
        fixture = try JournalFixture(["count": 1])
        try fixture.backend().set(["first": .string(String(repeating: "x", count: 1_000))])
    }

    /// Commits while another writer does something between the last check and the end of the writing; what that waits for is the end of
    /// the commit.
    ///
    /// - Parameters:
    ///   - count: how many bytes are written before.
    ///   - isNextBegun: whether the first bytes of another commit are written with the rest.
    ///   - isSlow: whether the writing takes longer than others wait.
    private func commit(
        after count: Int = 0, isNextBegun: Bool = false, isSlow: Bool = false,
        while other: @escaping @Sendable (PropertyListFile) throws -> Void
    ) throws {
        let lockFile = fixture.list.lockFile.path
        let isBegun = Lock(false)
        let isWritten = Lock(false)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { [fixture] descriptor, bytes, offset throws(SystemError) in
            guard !isBegun.exchange(true) else { return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset) }
            unlink(lockFile)
            let content = Data(bytes)
            let length = content.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: JournalFormat.Record.length, as: UInt32.self) }
            let written = isNextBegun ? content.prefix(Int(length)) + Data(repeating: 8, count: 8) : content
            try FileSystemCalls.live.writeAll(content.prefix(count), to: descriptor, at: offset)
            let write = { @Sendable in
                guard !isWritten.exchange(true) else { return }
                do {
                    try FileSystemCalls.live.writeAll(written, to: descriptor, at: offset)
                    try FileSystemCalls.live.unlock(descriptor)
                } catch {
                    Issue.record(error)
                }
            }
            var theirs = FileSystemCalls.live
            theirs.pause = { _ in if !isSlow { write() } }
            do {
                try other(fixture.backend(.full(keeping: 256), calls: theirs))
            } catch {
                Issue.record(error)
            }
            write()
            return bytes.count
        }
        let own = fixture.backend(calls: calls)
        _ = try own.load()
        try own.set(["own": true])
        #expect(isBegun.withLock { $0 })
        #expect(own.told.isEmpty)
    }

    private func values() throws -> [String: PropertyListValue] {
        let next = fixture.backend()
        var values = try next.load().values
        values["first"] = nil
        #expect(next.told.isEmpty)
        return values
    }

    @Test("Of two commits at the same place of the journal, neither is overwritten", arguments: [0, 8, 40])
    func commits(count: Int) throws {
        try commit(after: count) { try $0.set(["theirs": true]) }
        #expect(try values() == ["count": 1, "own": true, "theirs": true])
    }

    @Test(
        "A commit that is written for longer than another writer waits is not lost with the journal that is replaced meanwhile",
        arguments: [0, 8, 40])
    func slow(count: Int) throws {
        try commit(after: count, isSlow: true) { try $0.set(["theirs": true]) }
        #expect(try values() == ["count": 1, "own": true, "theirs": true])
    }

    @Test("Commits made while a list was put in place for longer than another writer waits are not undone", arguments: [false, true])
    func latePlacing(isPlaced: Bool) throws {
        let isBegun = Lock(false)
        var calls = FileSystemCalls.live
        calls.renameFile = { [fixture] from, to throws(SystemError) in
            if to.path == fixture.file.path, !isBegun.exchange(true) {
                unlink(fixture.list.lockFile.path)
                var theirs = FileSystemCalls.live
                theirs.pause = { _ in }
                do {
                    let other = fixture.backend(calls: theirs)
                    try other.set(["count": 2])
                    if isPlaced { try other.checkpoint() }
                    try other.set(["theirs": true])
                } catch {
                    Issue.record(error)
                }
            }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let own = fixture.backend(calls: calls)
        try own.set(["own": true])
        try own.checkpoint()
        #expect(isBegun.withLock { $0 })
        #expect(try values() == ["count": 2, "own": true, "theirs": true])
    }

    @Test("A commit is not lost with the journal whose next one is being written, as if that were damaged")
    func nextBegun() throws {
        try commit(after: 8, isNextBegun: true) { try $0.set(["theirs": true]) }
        #expect(try values() == ["count": 1, "own": true, "theirs": true])
    }

    @Test("A commit that is made while a shorter journal is written, before that is in place, is in it, too")
    func shortening() throws {
        let isBegun = Lock(false)
        var calls = FileSystemCalls.live
        calls.synchronize = { [self] descriptor throws(SystemError) in
            try FileSystemCalls.live.synchronize(descriptor)
            guard isJournal(descriptor), !isBegun.exchange(true) else { return }
            unlink(fixture.list.lockFile.path)
            do {
                try fixture.backend().set(["theirs": true])
            } catch {
                Issue.record(error)
            }
        }
        let own = fixture.backend(.full(keeping: 256), calls: calls)
        _ = try own.load()
        try own.checkpoint()
        #expect(isBegun.withLock { $0 })
        #expect(try values() == ["count": 1, "theirs": true])
    }

    @Test(
        "Of two writers that both find no journal, or a damaged one, one makes it, and the other commits to that",
        arguments: [false, true], [false, true])
    func making(isRenaming: Bool, isDamaged: Bool) throws {
        let fixture = try JournalFixture(["count": 1])
        if isDamaged {
            try fixture.backend().set(["first": 1])
            try fixture.damage(at: fixture.journalEnd(), Data(repeating: 8, count: 8))
        }
        let folder = Lock<Int32?>(nil)
        let isBegun = Lock(false)
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            try FileSystemCalls.live.lock(descriptor)
            if !isBegun.withLock({ $0 }) { folder.exchange(descriptor) }
        }
        // Another writer makes one, or waits for the lock of the folder until this one has been renamed.
        let others = { @Sendable (place: @escaping @Sendable () -> Void) in
            unlink(fixture.list.lockFile.path)
            var theirs = FileSystemCalls.live
            theirs.pause = { _ in place() }
            do {
                try fixture.backend(calls: theirs).set(["theirs": true])
            } catch {
                Issue.record(error)
            }
            place()
        }
        calls.renameFile = { from, to throws(SystemError) in
            guard isRenaming, !isBegun.exchange(true) else { return try FileSystemCalls.live.renameFile(from, to) }
            let isPlaced = Lock(false)
            others {
                guard !isPlaced.exchange(true) else { return }
                do {
                    try FileSystemCalls.live.renameFile(from, to)
                    if let folder = folder.withLock({ $0 }) { try FileSystemCalls.live.unlock(folder) }
                } catch {
                    Issue.record(error)
                }
            }
        }
        calls.synchronize = { descriptor throws(SystemError) in
            try FileSystemCalls.live.synchronize(descriptor)
            guard !isRenaming, self.isJournal(descriptor), !isBegun.exchange(true) else { return }
            others {}
        }
        try fixture.backend(calls: calls).set(["own": true])
        #expect(isBegun.withLock { $0 })
        var values = try fixture.backend().load().values
        #expect(values.removeValue(forKey: "first") == (isDamaged ? 1 : nil))
        #expect(values == ["count": 1, "own": true, "theirs": true])
        #expect(try fixture.folder.names().allSatisfy { !$0.hasSuffix(".tmp") })
    }

    /// A folder has no bytes.
    private func isJournal(_ descriptor: Int32) -> Bool {
        let bytes = FileSystemCalls.live.ifPossible { () throws(SystemError) in
            try FileSystemCalls.live.bytes(of: descriptor, at: 0, count: JournalHeader.size)
        }
        return bytes?.withUnsafeBytes { JournalHeader($0) != nil } == true
    }

    /// A writer that has read the journal, and that another one overtakes just before it locks the journal.
    private func backend(behind other: @escaping @Sendable (PropertyListFile) throws -> Void) throws -> PropertyListFile {
        let isBegun = Lock(false)
        var calls = FileSystemCalls.live
        calls.lock = { [self] descriptor throws(SystemError) in
            if isJournal(descriptor), !isBegun.exchange(true) {
                unlink(fixture.list.lockFile.path)
                do {
                    try other(fixture.backend(.full(keeping: 256)))
                } catch {
                    Issue.record(error)
                }
            }
            try FileSystemCalls.live.lock(descriptor)
        }
        let backend = fixture.backend(calls: calls)
        _ = try backend.load()
        return backend
    }

    @Test("A commit to a journal that was replaced just before it was locked is in the new one")
    func overtaken() throws {
        // So that nothing is appended to it before.
        try fixture.backend().checkpoint()
        let replaced = try JournalFile.open(of: fixture.list, calls: .live)?.inode
        let own = try backend { other in
            _ = try other.load()
            try other.checkpoint()
        }
        try own.set(["own": true])
        #expect(try values() == ["count": 1, "own": true])
        #expect(try JournalFile.open(of: fixture.list, calls: .live)?.inode != replaced)
    }

    @Test("What another writer commits while the edits of a dead store are replayed is in the entries afterwards, and so are those edits")
    func replaying() throws {
        let own = try backend { try $0.set(["theirs": true]) }
        try EditLogFolder(list: fixture.list, calls: .live).leaveLog(EditLogFixture.chain("count", from: 1, [2]))
        let entries = try own.edit { _ in }
        #expect(entries["theirs"] == true && entries["count"] == 2)
        #expect(try values() == ["count": 2, "theirs": true])
    }

    @Test("A program that keeps the journal locked delays one commit, which makes another journal, and not each")
    func keptLocked() throws {
        let pauses = Lock(0)
        var calls = FileSystemCalls.live
        calls.pause = { _ in pauses.withLock { $0 += 1 } }
        let own = fixture.backend(calls: calls)
        _ = try own.load()
        let descriptor = open(fixture.journal.path, O_RDONLY)
        defer { close(descriptor) }
        try #require(try FileSystemCalls.live.tryLock(descriptor))
        func pausesOfCommit(_ name: String) throws -> Int {
            let before = pauses.withLock { $0 }
            try own.set([name: true])
            return pauses.withLock { $0 } - before
        }
        #expect(try pausesOfCommit("a") > 0)
        #expect(try pausesOfCommit("b") == 0)
        #expect(try pausesOfCommit("c") == 0)
        #expect(try values() == ["count": 1, "a": true, "b": true, "c": true])
    }

    @Test("Commits that a new journal lacks are not forgotten if they cannot be made again at first")
    func lostTwice() throws {
        let isFull = Lock(false)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        let own = fixture.backend(calls: calls)
        try own.set(["own": true])
        try Disk.remove(fixture.journal.path)
        try fixture.backend().set(["theirs": true])
        isFull.exchange(true)
        #expect(throws: StorageError.self) { try own.set(["more": true]) }
        isFull.exchange(false)
        #expect(try own.load()["own"] == true)
        #expect(try values() == ["count": 1, "own": true, "theirs": true])
    }

    @Test("A commit to a journal that is being replaced by a shorter one is in that, too")
    func shortened() throws {
        let replaced = try JournalFile.open(of: fixture.list, calls: .live)?.inode
        try commit { other in
            _ = try other.load()
            try other.checkpoint()
        }
        #expect(try values() == ["count": 1, "own": true])
        #expect(try JournalFile.open(of: fixture.list, calls: .live)?.inode != replaced)
    }
}
