import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("The journal of a property list", .timeLimit(.minutes(10)))
struct JournalTests {
    @Test("A commit is appended to the journal, and the list stays as it is until a checkpoint")
    func commits() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        let bytes = try Data(contentsOf: fixture.file)
        try one.set(["b": 2])
        try one.set(["a": nil, "c": "text"])
        #expect(try Data(contentsOf: fixture.file) == bytes)
        #expect(try one.load().values == ["b": 2, "c": "text"])
        #expect(try fixture.backend().load().values == ["b": 2, "c": "text"])
        #expect(try fixture.backend(.off).load().values == ["b": 2, "c": "text"])
        try one.checkpoint()
        #expect(try fixture.stored() == ["b": 2, "c": "text"])
        #expect(!one.needsCheckpoint)
    }

    @Test("Each commit is one revision of one history, which every process sees, in order")
    func revisions() throws {
        let fixture = try JournalFixture()
        let (one, two) = (fixture.backend(), fixture.backend(.off))
        let first = try #require(try one.set(["a": 1]).revision)
        let second = try #require(try two.set(["b": 2]).revision)
        let third = try #require(try one.set(["a": 3]).revision)
        #expect([first, second, third].map(\.number) == [1, 2, 3])
        #expect(Set([first, second, third].map(\.history)).count == 1)
        #expect(try two.load().revision == third)
        try one.checkpoint()
        #expect(try fixture.backend().load().revision == third)
        #expect(try two.load().revision == third)
    }

    @Test("No commit or look reads the times of the journal, so that synchronizing it does not write its inode", arguments: [true, false])
    func times(isOwn: Bool) throws {
        let fixture = try JournalFixture(["a": 1])
        var calls = FileSystemCalls.live
        let live = calls
        let read = Lock<[UInt64]>([])
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            let status = try live.statusOfPath(path, followsLinks)
            read.withLock { $0.append(status.identity.inode) }
            return status
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            let status = try live.statusOfDescriptor(descriptor)
            read.withLock { $0.append(status.identity.inode) }
            return status
        }
        let (one, two) = (fixture.backend(calls: isOwn ? calls : live), fixture.backend(calls: isOwn ? live : calls))
        for backend in [one, two] { try backend.set(["b": 2]) }
        let journal = try live.statusOfPath(fixture.list.journal, false).identity.inode
        read.withLock { $0 = [] }
        for number in 1...3 as ClosedRange<Int64> {
            for backend in [one, two] { try backend.set(["a": .integer(PropertyListInteger(number))]) }
            for backend in [one, two] { #expect(try backend.load().values["b"] == 2) }
        }
        #expect(read.withLock { !$0.isEmpty && !$0.contains(journal) })
    }

    @Test("A commit looks at the list once before its lock and once under it, and whoever follows it once")
    func looks() throws {
        let fixture = try JournalFixture(["a": 1])
        let looks = Lock<[String]>([])
        let live = FileSystemCalls.live
        var calls = live
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            looks.withLock { $0.append(path.name) }
            return try live.statusOfPath(path, followsLinks)
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            looks.withLock { $0.append("open") }
            return try live.statusOfDescriptor(descriptor)
        }
        calls.untimedStatus = { folder, name throws(SystemError) in
            looks.withLock { $0.append(name.isEmpty ? "open journal" : name) }
            return try live.untimedStatus(folder, name)
        }
        let (own, other) = (fixture.backend(calls: calls), fixture.backend())
        for backend in [own, other, own] { try backend.set(["a": 2, "b": 2]) }
        let (list, journal, lock) = ("settings.plist", ".settings.plist.journal", ".settings.plist.lock")
        looks.exchange([])
        try own.set(["a": 3])
        // The open lock file, and the journal before it is locked itself, after, and when it was written, which may have taken too long.
        #expect(looks.exchange([]) == [list, ".", "open journal", "open", lock, list, ".", journal, "open journal", "open journal"])
        var revision = try other.set(["a": 4]).revision
        try own.set(["a": 5])
        looks.exchange([])
        guard case .differences(let changes) = own.journal.event(of: fixture.list, since: &revision) else {
            Issue.record("its entries have to be read")
            return
        }
        #expect(changes.values == ["a": 5])
        #expect(looks.exchange([]) == [list, ".", journal])
    }

    @Test("A list is found again after a file server has made its folder again, even if the new one has the number of the old one")
    func staleFolder() throws {
        let fixture = try JournalFixture(["a": 1])
        let live = FileSystemCalls.live
        let folders = Lock<(open: Set<Int32>, stale: Set<Int32>)>(([], []))
        @Sendable func requireFresh(_ folder: Int32?) throws(SystemError) {
            if let folder, folders.withLock({ $0.stale.contains(folder) }) { throw SystemError(ESTALE) }
        }
        var calls = live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            try requireFresh(path.openFolder?.descriptor)
            let descriptor = try live.openDescriptor(path, flags, mode)
            if flags & O_DIRECTORY != 0 { folders.withLock { _ = $0.open.insert(descriptor) } }
            return descriptor
        }
        calls.closeDescriptor = { descriptor throws(SystemError) in
            folders.withLock { folders in
                folders.open.remove(descriptor)
                folders.stale.remove(descriptor)
            }
            try live.closeDescriptor(descriptor)
        }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            try requireFresh(path.openFolder?.descriptor)
            return try live.statusOfPath(path, followsLinks)
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            try requireFresh(descriptor)
            return try live.statusOfDescriptor(descriptor)
        }
        calls.untimedStatus = { folder, name throws(SystemError) in
            try requireFresh(folder)
            return try live.untimedStatus(folder, name)
        }
        let backend = fixture.backend(calls: calls)
        try backend.set(["a": 2])
        folders.withLock { $0.stale = $0.open }
        #expect(try backend.load().values == ["a": 2])
        try backend.set(["a": 3])
        #expect(try fixture.backend().load().values == ["a": 3])
    }

    @Test("An edit that changes nothing is no commit")
    func nothing() throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        try backend.set(["a": 1])
        try backend.set(["a": 2])
        let count = try fixture.records().count
        #expect(try backend.set(["a": 2]).revision?.number == 1)
        #expect(try fixture.records().count == count)
    }

    @Test("After the last checkpoint, the list alone has every entry", arguments: [PropertyListFormat.binary, .xml])
    func checkpoint(format: PropertyListFormat) throws {
        let fixture = try JournalFixture(["a": 1], format: format)
        let backend = fixture.backend()
        let date = Date(timeIntervalSinceReferenceDate: 100.75)
        for number in 0..<50 { try backend.set(["key \(number)": .integer(PropertyListInteger(Int64(number)))]) }
        try backend.set(["a": nil, "date": .date(date)])
        try backend.checkpoint()
        let entries = try backend.load().values
        #expect(entries.count == 51)
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(try fixture.backend(.off).load().values == entries)
        #expect(try PropertyListValue.decode(Data(contentsOf: fixture.file)).format == format)
    }

    @Test("XML rounds values when they are committed, and refuses those that it has not")
    func xml() throws {
        let fixture = try JournalFixture(["a": 1], format: .xml)
        let backend = fixture.backend()
        _ = try backend.load()
        let entries = try backend.set(["date": .date(Date(timeIntervalSinceReferenceDate: 100.75))])
        #expect(entries["date"] == .date(Date(timeIntervalSinceReferenceDate: 100)))
        #expect(throws: StorageError.self) { try backend.set(["bad": "\u{1}"]) }
        #expect(try fixture.backend().load().values == entries.values)
    }

    @Test("A checkpoint of a list without edits writes nothing")
    func idle() throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        try backend.set(["a": 2])
        try backend.checkpoint()
        let identity = try FileIdentity(path: fixture.file.path)
        let records = try fixture.records()
        try backend.checkpoint()
        try fixture.backend().checkpoint()
        #expect(try FileIdentity(path: fixture.file.path) == identity)
        #expect(try fixture.records() == records)
    }

    @Test("Two processes' checkpoints at once leave every commit")
    func together() async throws {
        let fixture = try JournalFixture(["a": 0])
        let backends = (0..<4).map { _ in fixture.backend() }
        await withTaskGroup(of: Void.self) { group in
            for (index, backend) in backends.enumerated() {
                group.addTask {
                    for number in 1...50 {
                        do {
                            try backend.set(["key \(index)": .integer(PropertyListInteger(Int64(number)))])
                            if number.isMultiple(of: 7) { try backend.checkpoint() }
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        try backends[0].checkpoint()
        let expected: [String: PropertyListValue] = ["a": 0, "key 0": 50, "key 1": 50, "key 2": 50, "key 3": 50]
        #expect(try fixture.stored() == expected)
        for backend in backends {
            #expect(try backend.load().values == expected)
            #expect(try backend.load().revision?.number == 200)
            #expect(backend.told.isEmpty)
        }
    }

    @Test("Increments of several processes through the journal lose none, with checkpoints in between")
    func increments() async throws {
        let fixture = try JournalFixture(["n": 0])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let backend = fixture.backend()
                    for number in 1...50 {
                        do {
                            _ = try backend.edit { $0["n"] = .integer(PropertyListInteger(Int64(($0["n"]?.int ?? 0) + 1))) }
                            if number.isMultiple(of: 11) { try backend.checkpoint() }
                        } catch {
                            Issue.record(error)
                        }
                    }
                }
            }
        }
        #expect(try fixture.backend().load()["n"] == 200)
    }

    @Test("An edit runs without the lock, and again on the latest entries if another process has committed meanwhile")
    func unlockedEdit() throws {
        let fixture = try JournalFixture(["a": 1])
        let (one, two) = (fixture.backend(), fixture.backend())
        try one.set(["a": 2])
        var seen: [PropertyListValue?] = []
        _ = try one.edit { entries in
            seen.append(entries["b"])
            if seen.count == 1 { try two.set(["b": 1]) }
            entries["a"] = 3
        }
        #expect(seen == [nil, 1])
        #expect(try fixture.backend().load().values == ["a": 3, "b": 1])
        // What throws on old entries need not throw on the latest ones.
        try two.set(["b": 2])
        _ = try one.edit { entries in
            guard entries["b"] == 2 else { throw CancellationError() }
            entries["a"] = 4
        }
        #expect(try two.load().values == ["a": 4, "b": 2])
    }

    @Test("A store is told of commits by their differences, and looks again where they are not known")
    func events() throws {
        let fixture = try JournalFixture(["a": 1])
        let (one, two) = (fixture.backend(), fixture.backend())
        try one.set(["a": 2])
        var told: StorageRevision?
        func event() -> StorageEvent? { two.journal.event(of: fixture.list, since: &told) }
        #expect(event() == .changed)
        let start = try #require(told)
        #expect(try two.load().revision == start)
        #expect(event() == nil)
        try one.set(["a": 3, "b": 1])
        try one.set(["a": 4, "c": nil])
        #expect(event() == .differences(StorageChanges(["a": 4, "b": 1], since: start, revision: try #require(told))))
        #expect(told?.number == start.number + 2)
        try one.checkpoint()
        #expect(event() == nil)
        // One that did not know the entries before takes over the list of another program: what has changed is not known.
        try fixture.write(["a": 9])
        try fixture.backend().set(["d": 1])
        #expect(event() == .changed)
        #expect(try two.load().values == ["a": 9, "d": 1])
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(event() == .changed)
    }

    @Test("A store is told of what others commit while its own commit is synchronized, and of what one finds that then fails")
    func duringOwnCommit() async throws {
        let fixture = try JournalFixture(["a": 0, "b": 0])
        let other = fixture.backend()
        let next = Lock<Int64?>(nil)
        @Sendable func commit() throws(SystemError) {
            guard let number = next.take({ $0.take() }) else { return }
            do {
                try other.set(["b": .integer(PropertyListInteger(number))])
            } catch {
                throw SystemError(EIO)
            }
        }
        var calls = FileSystemCalls.live
        let (synchronize, write) = (calls.synchronizeData, calls.writeBytesAt)
        let isFailing = Lock(false)
        calls.synchronizeData = { descriptor throws(SystemError) in
            try synchronize(descriptor)
            try commit()
        }
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFailing.withLock({ $0 }) { throw SystemError(ENOSPC) }
            return try write(descriptor, bytes, offset)
        }
        let never = JournalMode.full(quiet: .seconds(1_000), atMost: .seconds(1_000))
        let store = try ObservableStore(backend: fixture.backend(never, calls: calls))
        var values = store.values(of: StorageKey<Int64>("b", default: 0)).makeAsyncIterator()
        #expect(await values.next() == 0)
        let key = StorageKey("a", default: 0)
        for number in 1...100 as ClosedRange<Int64> {
            next.withLock { $0 = number }
            try await store.update { $0[key] += 1 }
            #expect(await values.next() == number)
        }
        isFailing.withLock { $0 = true }
        for number in 101...110 as ClosedRange<Int64> {
            await #expect(throws: StorageError.self) {
                try await store.update { transaction in
                    if transaction[StorageKey<Int64>("b", default: 0)] < number {
                        try other.set(["b": .integer(PropertyListInteger(number))])
                    }
                    transaction[key] += 1
                }
            }
            #expect(await values.next() == number)
        }
        isFailing.withLock { $0 = false }
        try await store.close()
    }

    @Test("A path whose folder another one replaces between two commits leads to the other list")
    func exchangedFolder() throws {
        let folder = try TemporaryFolder.inMemory()
        let files = FileManager.default
        for name in ["a", "b"] { try files.createDirectory(at: folder.file(name), withIntermediateDirectories: false) }
        let link = folder.file("link")
        try files.createSymbolicLink(at: link, withDestinationURL: folder.file("a"))
        let backend = PropertyListFile(at: link.appendingPathComponent("list"), journal: .full())
        func stored(in name: String) throws -> [String: PropertyListValue] {
            try PropertyListFile(at: folder.file(name).appendingPathComponent("list")).load().values
        }
        try backend.set(["x": 1])
        try backend.set(["x": 2])
        try files.removeItem(at: link)
        try files.createSymbolicLink(at: link, withDestinationURL: folder.file("b"))
        try backend.set(["y": 1])
        #expect(try stored(in: "a") == ["x": 2] && stored(in: "b") == ["y": 1])
        #expect(try backend.load().values == ["y": 1])
        // The list itself becomes a link.
        try backend.checkpoint()
        let list = folder.file("b").appendingPathComponent("list")
        try files.removeItem(at: list)
        try files.createSymbolicLink(at: list, withDestinationURL: folder.file("a").appendingPathComponent("list"))
        try backend.set(["z": 1])
        #expect(try stored(in: "a") == ["x": 2, "z": 1])
        // A folder that has the place and the name of the former one: there, the list and its journal are missing, and are made again.
        try files.moveItem(at: folder.file("a"), to: folder.file("c"))
        try files.createDirectory(at: folder.file("a"), withIntermediateDirectories: false)
        try backend.set(["x": 3])
        #expect(try stored(in: "a") == ["x": 3, "z": 1])
        #expect(try stored(in: "c") == ["x": 2, "z": 1])
    }

    @Test("A journal that has become long is replaced by one with its last commits, and the history goes on")
    func shortened() throws {
        let fixture = try JournalFixture()
        let (one, two) = (fixture.backend(.full(keeping: 4_096)), fixture.backend())
        _ = try one.set(["a": 0])
        let start = try #require(try two.load().revision)
        for number in 1...200 {
            try one.set(["a": .integer(PropertyListInteger(Int64(number))), "text": .string(String(repeating: "x", count: number))])
            if number.isMultiple(of: 10) { try one.checkpoint() }
        }
        let end = try #require(try one.load().revision)
        #expect(end == StorageRevision(history: start.history, number: 201))
        #expect(try fixture.journalEnd() < 3 * 4_096)
        #expect(try two.load().revision == end)
        #expect(try two.load().values == one.load().values)
        #expect(try two.journal.commits(since: start) == nil)
        let kept = try #require(try two.journal.commits(since: nil))
        #expect(kept.last?.revision == end)
        #expect(kept.map(\.revision.number) == Array((201 - UInt64(kept.count) + 1)...201))
        #expect(try fixture.backend().load().values == one.load().values)
    }

    @Test("A process that was away while the journal was replaced reads the list instead")
    func away() throws {
        let fixture = try JournalFixture(["z": 1])
        let (one, two) = (fixture.backend(.full(keeping: 1_024)), fixture.backend())
        try one.set(["a": 0])
        _ = try two.load()
        for number in 1...100 {
            try one.set(["a": .integer(PropertyListInteger(Int64(number)))])
            try one.checkpoint()
        }
        try one.set(["b": 2])
        #expect(try two.load().values == ["z": 1, "a": 100, "b": 2])
        #expect(try two.load().revision?.number == 102)
    }

    @Test("A process that was away for a shorter time has the commits since then, although they are in the list")
    func brieflyAway() throws {
        let fixture = try JournalFixture(["z": 1])
        let (one, two) = (fixture.backend(.full(keeping: 1_024)), fixture.backend())
        for number in 1...30 as ClosedRange<Int64> {
            try one.set(["a": .integer(PropertyListInteger(number))])
            if number == 28 { _ = try two.load() }
        }
        let replaced = try FileIdentity(path: fixture.journal.path)?.inode
        try one.checkpoint()
        #expect(try FileIdentity(path: fixture.journal.path)?.inode != replaced)
        #expect(try two.load().values == ["z": 1, "a": 30])
        #expect(try two.load().revision == one.load().revision)
    }

    @Test("Commits since a revision are known with the old and new values, the writer and the time")
    func history() throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        let first = try #require(try backend.set(["b": 2]).revision)
        try backend.checkpoint()
        try backend.set(["a": nil, "b": 3])
        let last = try #require(try backend.load().revision)
        let commits = try #require(try fixture.backend().journal.commits(since: first))
        #expect(commits.map(\.edits) == [["a": .init(from: 1, to: nil), "b": .init(from: 2, to: 3)]])
        #expect(commits.first?.revision == last)
        #expect(commits.first?.writer?.contains("(\(getpid()))") == true)
        #expect(try #require(commits.first?.time) <= Date())
        #expect(try backend.journal.commits(since: last) == [])
        #expect(try backend.journal.commits(since: StorageRevision(history: last.history, number: last.number + 1)) == nil)
        #expect(try backend.journal.commits(since: StorageRevision(history: "other", number: 0)) == nil)
        #expect(try fixture.backend().journal.commits(since: nil)?.count == 2)
    }

    @Test("Without a journal there are no commits, and only a list that is opened with one gets one, from when there are revisions")
    func none() throws {
        let fixture = try JournalFixture()
        #expect(try fixture.backend().load().revision == nil)
        try fixture.write(["a": 1])
        #expect(try fixture.backend(.off).journal.commits(since: nil) == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path) == ["settings.plist"])
        let opened = try #require(try fixture.backend().load().revision)
        try fixture.backend(.off).set(["a": 2])
        #expect(try fixture.backend(.off).journal.commits(since: opened)?.map(\.edits) == [["a": .init(from: 1, to: 2)]])
    }

    @Test("The journal has the mode of the list")
    func mode() throws {
        let fixture = try JournalFixture(["a": 1])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: fixture.file.path)
        try fixture.backend().set(["a": 2])
        let mode = try FileManager.default.attributesOfItem(atPath: fixture.journal.path)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }
}
