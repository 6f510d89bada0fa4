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

    /// Commits while another writer does something between the last check and the writing; what that waits for is the end of the commit.
    private func commit(while other: @escaping @Sendable (PropertyListFile) throws -> Void) throws {
        let lockFile = fixture.list.lockFile.path
        let isBegun = Lock(false)
        let isWritten = Lock(false)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { [fixture] descriptor, bytes, offset throws(SystemError) in
            guard !isBegun.exchange(true) else { return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset) }
            unlink(lockFile)
            let content = Data(bytes)
            let write = { @Sendable in
                guard !isWritten.exchange(true) else { return }
                do {
                    try FileSystemCalls.live.writeAll(content, to: descriptor, at: offset)
                    try FileSystemCalls.live.unlock(descriptor)
                } catch {
                    Issue.record(error)
                }
            }
            var theirs = FileSystemCalls.live
            theirs.pause = { _ in write() }
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

    @Test("Of two commits at the same place of the journal, neither is overwritten")
    func commits() throws {
        try commit { try $0.set(["theirs": true]) }
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
