import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Lists that a program overwrites in place, with as many bytes, and whose modification time it restores, as `cp -p` and `rsync --times
/// --inplace` can.
@Suite("Lists that are overwritten beside a journal", .timeLimit(.minutes(10)))
struct OverwrittenListTests {
    private let fixture: JournalFixture
    private let own: PropertyListFile

    init() throws {
        fixture = try JournalFixture(["a": 1, "b": 1])
        own = fixture.backend()
        try own.set(["a": 2])
        try own.checkpoint()
    }

    /// Overwrites the list, when the file system's clock has ticked since its status was changed.
    private func overwrite(_ entries: [String: PropertyListValue]) throws {
        let before = try #require(try FileIdentity(at: fixture.list))
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        try #require(bytes.count == before.size)
        let descriptor = open(fixture.file.path, O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        repeat {
            try FileSystemCalls.live.writeAll(bytes, to: descriptor, at: 0)
            try FileSystemCalls.live.setModificationTime(descriptor, before.modified)
        } while try FileIdentity(at: fixture.list)?.changed == before.changed
        #expect(try FileIdentity(at: fixture.list)?.recorded == before.recorded)
    }

    /// What happens to the list or the journal as well.
    enum Also: CaseIterable, Sendable { case nothing, edit, journalRemoved }

    @Test("What the program has changed wins, is told, and is in the next list", arguments: Also.allCases)
    func noticed(also: Also) throws {
        let revision = try #require(try own.load().revision)
        if also == .edit { try own.set(["a": 3]) }
        try overwrite(["a": 2, "b": 9])
        if also == .journalRemoved { try Disk.remove(fixture.journal.path) }
        let expected: [String: PropertyListValue] = ["a": also == .edit ? 3 : 2, "b": 9]
        #expect(try own.load().values == expected)
        if also == .nothing {
            #expect(try own.journal.commits(since: revision)?.map(\.edits) == [["b": .init(from: 1, to: 9)]])
        }
        try own.set(["c": 4])
        try own.checkpoint()
        #expect(try fixture.stored() == expected.merging(["c": 4]) { $1 })
        #expect(try fixture.backend().load().values == fixture.stored())
        #expect(own.told.isEmpty)
    }

    @Test("A commit notices it, and so does a checkpoint", arguments: [false, true])
    func noticedInWriting(isCheckpoint: Bool) throws {
        if isCheckpoint { try own.set(["a": 3]) }
        try overwrite(["a": 2, "b": 9])
        if isCheckpoint { try own.checkpoint() } else { try own.set(["a": 3]) }
        #expect(try own.load().values == ["a": 3, "b": 9])
        try own.checkpoint()
        #expect(try fixture.stored() == ["a": 3, "b": 9])
    }

    @Test("Before a process has looked at a list of another one, it is noticed by the next checkpoint at the latest")
    func unseen() throws {
        let other = fixture.backend()
        let revision = try #require(try other.load().revision)
        try own.set(["a": 3])
        try own.checkpoint()
        try overwrite(["a": 3, "b": 9])
        try other.set(["c": 4])
        try other.checkpoint()
        #expect(try other.journal.commits(since: revision) != nil)
        #expect(try fixture.stored() == ["a": 3, "b": 9, "c": 4])
        #expect(try other.load().values == fixture.stored())
        #expect(try own.load().values == fixture.stored())
    }

    @Test("If it was overwritten while nobody had it open, it is not known what has changed since an earlier revision")
    func opened() throws {
        let revision = try #require(try own.load().revision)
        try overwrite(["a": 2, "b": 9])
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 2, "b": 9])
        #expect(try later.journal.commits(since: revision) == nil)
    }

    @Test("Entries in memory are not replaced by those of an overwritten list, as in order to release them")
    func releasing() throws {
        let known = try own.load()
        let content = { try #require(try own.list.content(of: own.list.target())) }
        #expect(try own.journal.edits(of: known, since: content()) == [:])
        try overwrite(["a": 2, "b": 9])
        #expect(try own.journal.edits(of: known, since: content()) == nil)
    }

    @Test("A list whose status alone was changed is read once, and nothing has changed; no other list is read")
    func status() throws {
        let reads = Lock(0)
        var calls = FileSystemCalls.live
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            reads.withLock { $0 += 1 }
            return try FileSystemCalls.live.readBytes(descriptor, buffer)
        }
        let reader = fixture.backend(calls: calls)
        var revision = try reader.load().revision
        func readsOfLoad() throws -> Int {
            reads.exchange(0)
            #expect(try reader.load().revision == revision)
            return reads.withLock { $0 }
        }
        #expect(try readsOfLoad() == 0)
        try reader.set(["a": 3])
        try reader.checkpoint()
        try own.set(["a": 4])
        try own.checkpoint()
        revision = try own.load().revision
        #expect(try readsOfLoad() == 0)
        let before = try FileIdentity(at: fixture.list)?.changed
        while try FileIdentity(at: fixture.list)?.changed == before { try #require(chmod(fixture.file.path, 0o640) == 0) }
        #expect(try readsOfLoad() == 1)
        #expect(try readsOfLoad() == 0)
    }

    @Test("A store tells its readers")
    func store() async throws {
        let store = try ObservableStore(backend: own)
        let values = store.values(of: StorageKey("b", default: 0))
        try overwrite(["a": 2, "b": 9])
        for await value in values where value == 9 { break }
        try await store.close()
    }
}
