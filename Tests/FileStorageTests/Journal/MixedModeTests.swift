import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Stores that ask for a journal beside stores that do not, and places in which a journal cannot be written.
@Suite("A journal that not everybody asks for", .timeLimit(.minutes(10)))
struct MixedModeTests {
    private let name = StorageKey("server", "name", default: "")
    private let port = StorageKey("server", "port", default: 0)

    private func backend(_ path: String, _ journal: JournalMode = .full()) -> PropertyListFile {
        PropertyListFile(at: URL(fileURLWithPath: path), journal: journal)
    }

    private func names(_ folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    }

    // MARK: Modes

    @Test("A store without a journal of its own uses the one beside the list, and leaves the list complete when it is closed")
    func offAndFull() async throws {
        let fixture = try JournalFixture(["a": 0])
        let plain = try ObservableStore(backend: fixture.backend(.off))
        let journaled = try ObservableStore(backend: fixture.backend(.full(quiet: .seconds(1_000), atMost: .seconds(1_000))))
        let (a, b) = (StorageKey("a", default: 0), StorageKey("b", default: 0))
        try await journaled.update { $0[a] = 1 }
        try await plain.update { transaction in
            #expect(transaction[a] == 1)
            transaction[b] = 2
        }
        #expect(try await journaled.update { $0[b] } == 2)
        #expect(try fixture.backend().load().values == ["a": 1, "b": 2])
        try await journaled.close()
        try plain.set(3, for: a)
        try await plain.close()
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(try fixture.stored() == ["a": 3, "b": 2])
    }

    @Test("A journal that is made while a store without one has drafted a new list loses neither commit")
    func madeMeanwhile() throws {
        let fixture = try JournalFixture(["a": 0])
        let other = fixture.backend()
        let isFirst = Lock(true)
        let recorder = CallRecorder { _, name in
            let isNow =
                name == "synchronize"
                && isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
            guard isNow else { return nil }
            do {
                try other.set(["b": 1])
            } catch {
                Issue.record(error)
            }
            return nil
        }
        let plain = fixture.backend(.off, calls: recorder.calls)
        try plain.set(["a": 1])
        #expect(!isFirst.withLock { $0 })
        #expect(try other.load().values == ["a": 1, "b": 1])
        #expect(try fixture.backend().load().values == ["a": 1, "b": 1])
        #expect(other.told.isEmpty)
    }

    @Test("Edits of different values in one dictionary by two stores with a journal both survive", arguments: [false, true])
    func leaves(checkpointsBetween: Bool) async throws {
        let fixture = try JournalFixture(["server": ["name": "old", "port": 1, "other": true]])
        let stores = try (0..<2).map { _ in try ObservableStore(backend: fixture.backend()) }
        try stores[0].set("new", for: name)
        try stores[1].set(2, for: port)
        try await stores[0].flush(to: checkpointsBetween ? .storage : .journal)
        try await stores[1].flush(to: checkpointsBetween ? .storage : .journal)
        let expected: [String: PropertyListValue] = ["server": ["name": "new", "port": 2, "other": true]]
        #expect(try fixture.backend().load().values == expected)
        for store in stores {
            try await store.update { _ in }
            #expect(store.entries == expected)
            try await store.close()
        }
        #expect(try fixture.stored() == expected)
    }

    @Test("Many edits of different values in one dictionary by two stores all survive")
    func manyLeaves() async throws {
        let fixture = try JournalFixture()
        let stores = try (0..<2).map { _ in
            try ObservableStore(backend: fixture.backend(.full(quiet: .milliseconds(1), atMost: .milliseconds(2), keeping: 256)))
        }
        for number in 1...50 {
            try stores[0].set("\(number)", for: name)
            try stores[1].set(number, for: port)
            if number.isMultiple(of: 7) { try await stores[number % 2].flush(to: .journal) }
        }
        for store in stores { try await store.close() }
        #expect(try fixture.stored() == ["server": ["name": "50", "port": 50]])
    }

    @Test("A store that only reads sees list and journal, and writes nothing", arguments: [false, true])
    func readOnlyStore(isForeign: Bool) throws {
        let fixture = try JournalFixture(["a": 0, "b": 0])
        let writer = fixture.backend()
        try writer.set(["a": 1])
        try writer.checkpoint()
        try writer.set(["b": 1])
        if isForeign { try fixture.write(["a": 1, "b": 0, "f": 1]) }
        let files = try names(fixture.folder)
        let (list, journal) = (try Data(contentsOf: fixture.file), try Data(contentsOf: fixture.journal))
        let reader = PropertyListFile(at: fixture.file, access: .readOnly, journal: .full())
        var expected: [String: PropertyListValue] = ["a": 1, "b": 1]
        expected["f"] = isForeign ? 1 : nil
        #expect(try reader.load().values == expected)
        #expect(throws: StorageError.self) { try reader.set(["a": 2]) }
        try reader.checkpoint()
        #expect(try names(fixture.folder) == files)
        #expect(try Data(contentsOf: fixture.file) == list)
        #expect(try Data(contentsOf: fixture.journal) == journal)
        // It goes on with what is written later.
        try writer.set(["a": 3])
        expected["a"] = 3
        #expect(try reader.load().values == expected)
    }

    // MARK: Links

    @Test("A link that is turned leads to the list and the journal of the other folder, and loses nothing of either")
    func turnedLink() throws {
        let (one, two) = (try JournalFixture(["a": 1]), try JournalFixture(["a": 2]))
        let links = try TemporaryFolder.inMemory()
        let link = links.path("settings.plist")
        func turn(to fixture: JournalFixture) throws {
            let temporary = links.path("link")
            try FileManager.default.createSymbolicLink(atPath: temporary, withDestinationPath: fixture.file.path)
            try FileSystemCalls.live.renameFile(ResolvedPath(splitting: temporary), ResolvedPath(splitting: link))
        }
        try turn(to: one)
        let backend = backend(link)
        try backend.set(["x": 1])
        try turn(to: two)
        #expect(try backend.load().values == ["a": 2])
        try backend.set(["y": 2])
        #expect(try two.backend().load().values == ["a": 2, "y": 2])
        #expect(try one.backend().load().values == ["a": 1, "x": 1])
        try turn(to: one)
        #expect(try backend.load().values == ["a": 1, "x": 1])
        try backend.checkpoint()
        #expect(try one.stored() == ["a": 1, "x": 1])
        try two.backend().checkpoint()
        #expect(try two.stored() == ["a": 2, "y": 2])
        #expect(try names(links) == ["settings.plist"])
        #expect(backend.told.isEmpty)
    }

    @Test("A list that is replaced by a link leads to the other list, and to a journal beside that")
    func replacedByLink() throws {
        let fixture = try JournalFixture(["a": 0])
        let backend = fixture.backend()
        try backend.set(["a": 1])
        try fixture.folder.makeFolder("other")
        let other = fixture.folder.file("other/settings.plist")
        try PropertyListValue.dictionary(["x": 1]).encoded(as: .binary).write(to: other)
        try #require(rename(fixture.folder.link("new", to: "other/settings.plist"), fixture.file.path) == 0)
        #expect(try backend.set(["b": 2]).values == ["x": 1, "b": 2])
        #expect(try PropertyListFile(at: other).load().values == ["x": 1, "b": 2])
    }

    @Test("A link that is turned to a list without a journal leads to one that is made there")
    func turnedToPlainList() throws {
        let (one, two) = (try JournalFixture(["a": 1]), try JournalFixture(["a": 2]))
        let links = try TemporaryFolder.inMemory()
        let link = links.path("settings.plist")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: one.file.path)
        let backend = backend(link)
        try backend.set(["x": 1])
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: two.file.path)
        #expect(try backend.load().values == ["a": 2])
        try backend.set(["y": 2])
        #expect(try two.backend().load().values == ["a": 2, "y": 2])
        #expect(try one.backend().load().values == ["a": 1, "x": 1])
    }

    // MARK: Formats

    @Test("Converting the list keeps what is only in the journal", arguments: PropertyListFormat.allCases, PropertyListFormat.allCases)
    func convert(from: PropertyListFormat, to: PropertyListFormat) throws {
        let fixture = try JournalFixture(["a": 1], format: from)
        let backend = fixture.backend()
        let date: PropertyListValue = [from, to].contains(.json) ? "7.5" : .date(Date(timeIntervalSinceReferenceDate: 7.5))
        try backend.set(["b": 2, "date": date])
        try fixture.backend(.off).convert(to: to) { _ in }
        #expect(try PropertyListValue.decode(Data(contentsOf: fixture.file)).format == to)
        let expected = try fixture.stored()
        #expect(Set(expected.keys) == ["a", "b", "date"])
        #expect(try backend.load().values == expected)
        try backend.set(["c": 3])
        try backend.checkpoint()
        #expect(try PropertyListValue.decode(Data(contentsOf: fixture.file)).format == to)
        #expect(try fixture.stored() == expected.merging(["c": 3]) { $1 })
    }

    // MARK: Places

    @Test("A full disk fails the commit alone; it succeeds when there is space", arguments: ["writeAt", "synchronizeData"])
    func fullDisk(call: String) async throws {
        let fixture = try JournalFixture(["a": 0])
        let isFull = Lock(false)
        let recorder = CallRecorder { _, name in
            isFull.withLock { $0 } && (name == call || name == "write" || name == "synchronize") ? ENOSPC : nil
        }
        let store = try ObservableStore(
            backend: fixture.backend(.full(quiet: .seconds(1_000), atMost: .seconds(1_000)), calls: recorder.calls))
        let key = StorageKey("a", default: 0)
        try await store.update { $0[key] = 1 }
        isFull.withLock { $0 = true }
        try store.set(2, for: key)
        do {
            try await store.flush(to: .journal)
            Issue.record("there was no error")
        } catch {
            guard case .unwritable = error else { throw error }
        }
        #expect(store[key] == 2)
        isFull.withLock { $0 = false }
        try await store.flush(to: .journal)
        #expect(try fixture.backend(.off).load().values == ["a": 2])
        #expect(try fixture.stored() == ["a": 0])
        try await store.close()
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("A part of a record that a full disk has let through is removed, and is not there for the next commit")
    func partOfARecord() throws {
        let fixture = try JournalFixture(["a": 0])
        let state = Lock((isFull: false, isHalf: true))
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            guard state.withLock({ $0.isFull }) else { return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset) }
            let isHalf = state.withLock { state in
                defer { state.isHalf = false }
                return state.isHalf
            }
            guard isHalf else { throw SystemError(ENOSPC) }
            let half = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
            return try FileSystemCalls.live.writeBytesAt(descriptor, half, offset)
        }
        let backend = fixture.backend(calls: calls)
        try backend.set(["a": 1])
        let end = try fixture.journalEnd()
        let revision = try #require(try backend.load().revision)
        state.withLock { $0.isFull = true }
        #expect(throws: StorageError.self) { try backend.set(["a": 2]) }
        #expect(try fixture.journalEnd() == end)
        state.withLock { $0.isFull = false }
        try backend.set(["a": 3])
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 3])
        #expect(try later.load().revision == StorageRevision(history: revision.history, number: revision.number + 1))
        #expect(later.told.isEmpty && backend.told.isEmpty)
    }

    @Test("The journal of a list that a group may write can be written by the group, also after it was replaced because it is long")
    func groupWritable() throws {
        let fixture = try JournalFixture(["a": 0])
        try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: fixture.file.path)
        let backend = fixture.backend(.full(keeping: 64))
        for number in 1...8 {
            try backend.set(["a": .integer(PropertyListInteger(Int64(number)))])
            try backend.checkpoint()
            for url in [fixture.file, fixture.journal] {
                #expect(try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int == 0o660)
            }
        }
        let status = try #require(try FileSystemCalls.live.status(at: fixture.list.journal))
        let list = try #require(try FileSystemCalls.live.status(at: fixture.list))
        #expect((status.owner, status.group) == (list.owner, list.group))
    }

    @Test("The journal of a list in a folder that cannot be written is read, and a commit fails without changing it")
    func readOnlyFolder() throws {
        let fixture = try JournalFixture(["a": 0])
        try fixture.backend().set(["a": 1])
        let journal = try Data(contentsOf: fixture.journal)
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            // As a file system does that is mounted for reading only, also for the superuser.
            if flags & (O_WRONLY | O_RDWR | O_CREAT) != 0 { throw SystemError(EROFS) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let backend = fixture.backend(calls: calls)
        #expect(try backend.load().values == ["a": 1])
        #expect(throws: StorageError.self) { try backend.set(["a": 2]) }
        #expect(throws: StorageError.self) { try backend.checkpoint() }
        #expect(try Data(contentsOf: fixture.journal) == journal)
        #expect(try backend.load().values == ["a": 1])
    }

    // MARK: Logs of edits

    /// The log of a store whose process was killed, made in an earlier run of the system.
    private func leaveLog(
        _ edits: [LoggedEdit], of list: ResolvedPath, in identity: FileIdentity?, isOlder: Bool
    ) throws {
        let log = try EditLogFolder(list: list, calls: .live).makeLog(halfSize: 65_536)
        log.publish()
        for edit in edits { precondition(log.add(edit)) }
        log.markCommitted(upTo: 0, in: identity)
        withExtendedLifetime(log) {}
        guard isOlder, let name = try FileManager.default.contentsOfDirectory(atPath: list.editLogs.path).first else { return }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: list.editLogs.path + "/" + name))
        try handle.seek(toOffset: UInt64(EditLogFormat.Header.boot))
        try handle.write(contentsOf: Data(repeating: 1, count: 8))
        try handle.close()
    }

    @Test("Edits of a killed store without a journal are made in the journal by the next, after a restart too", arguments: [false, true])
    func logOfTheList(isOlder: Bool) throws {
        let fixture = try JournalFixture(["k": 1])
        let identity = try FileSystemCalls.live.statusOfPath(fixture.list, false).identity
        try leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]), of: fixture.list, in: identity, isOlder: isOlder)
        let backend = fixture.backend()
        #expect(try backend.load().values == ["k": 3])
        #expect(backend.told.isEmpty)
        try backend.checkpoint()
        #expect(try fixture.stored() == ["k": 3])
        #expect(!FileManager.default.fileExists(atPath: fixture.list.editLogs.path))
    }

    @Test(
        "Where the run of the system is not known, edits of a killed store are made, and a journal is not made again",
        arguments: [false, true])
    func unknownRun(isJournaled: Bool) throws {
        let fixture = try JournalFixture(["k": 1])
        var calls = FileSystemCalls.live
        calls.boot = 0
        let one = fixture.backend(isJournaled ? .full() : .off)
        try one.set(["a": 1])
        try leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]), of: fixture.list, in: nil, isOlder: false)
        // Otherwise the log counts in any run.
        try fixture.write(["k": 1, "a": 2])
        let journal = fixture.backend().calls.statusOrNil(at: fixture.list.journal)?.identity.inode
        let other = fixture.backend(isJournaled ? .full() : .off, calls: calls)
        #expect(try other.load().values == ["k": 3, "a": 2])
        #expect(other.told.isEmpty)
        try other.set(["b": 1])
        try one.set(["c": 1])
        #expect(fixture.backend().calls.statusOrNil(at: fixture.list.journal)?.identity.inode == journal)
    }

    @Test("A journal that is made again where the run of the system is not known keeps the run of the one before")
    func unknownRunOfNewJournal() throws {
        let fixture = try JournalFixture(["k": 1])
        var calls = FileSystemCalls.live
        calls.boot = 7
        try fixture.backend(calls: calls).set(["k": 2])
        let before = try #require(try JournalFile.open(of: fixture.list, calls: .live))
        // It is made again with the permissions of the list.
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: fixture.file.path)
        calls.boot = 0
        try fixture.backend(calls: calls).set(["k": 3])
        let after = try #require(try JournalFile.open(of: fixture.list, calls: .live))
        #expect(after.inode != before.inode)
        #expect((after.header.boot, after.header.history) == (7, before.header.history))
    }

    @Test("Edits of a killed store with a journal are made after a restart, although a checkpoint came after its commit")
    func logAfterCheckpoint() throws {
        let fixture = try JournalFixture(["k": 0])
        let first = fixture.backend()
        let identity = Lock<FileIdentity?>(nil)
        var options = CommitOptions()
        options.whenStored = { _, stored in identity.withLock { $0 = stored } }
        _ = try first.edit(options) { $0["k"] = 1 }
        try first.checkpoint()
        try leaveLog(EditLogFixture.chain("k", from: 1, [2]), of: fixture.list, in: identity.withLock { $0 }, isOlder: true)
        let next = fixture.backend()
        #expect(try next.load().values == ["k": 2])
        #expect(next.told.isEmpty)
    }

    @Test("After a restart, edits of a killed store are not made over a later commit, which is told", arguments: [false, true])
    func logBeforeCommit(isOlderThanJournal: Bool) throws {
        let fixture = try JournalFixture(["k": 0])
        let first = fixture.backend()
        let list = try FileSystemCalls.live.statusOfPath(fixture.list, false).identity
        let identity = Lock<FileIdentity?>(nil)
        var options = CommitOptions()
        options.whenStored = { _, stored in identity.withLock { $0 = isOlderThanJournal ? list : stored } }
        _ = try first.edit(options) { $0["k"] = 1 }
        try first.set(["other": 1])
        try leaveLog(EditLogFixture.chain("k", from: 1, [2]), of: fixture.list, in: identity.withLock { $0 }, isOlder: true)
        let next = fixture.backend()
        #expect(try next.load().values == ["k": 1, "other": 1])
        #expect(next.told == [.conflict(file: fixture.file.path, keys: ["k"])])
    }
}
