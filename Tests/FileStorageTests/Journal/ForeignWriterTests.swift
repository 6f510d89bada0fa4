import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// What becomes of commits that are not in the list yet when programs change the list that know of no journal.
@Suite("Foreign writers beside a journal", .timeLimit(.minutes(10)))
struct ForeignWriterTests {
    @Test("What another program changes wins, key by key; what it does not change stays", arguments: [false, true], [false, true])
    func keyByKey(inPlace: Bool, isKnown: Bool) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1, "c": 1, "d": 1])
        let one = fixture.backend()
        try one.set(["a": 2, "b": 2, "new": 2, "d": nil])
        // Made from the list without these: b is changed, c is removed.
        try fixture.write(["a": 1, "b": 9, "d": 1, "other": 9], inPlace: inPlace)
        let expected: [String: PropertyListValue] = ["a": 2, "b": 9, "new": 2, "other": 9]
        let reader = isKnown ? one : fixture.backend()
        #expect(try reader.load().values == expected)
        #expect(try fixture.backend(.off).load().values == expected)
        try reader.checkpoint()
        #expect(try fixture.stored() == expected)
        #expect(try one.load().values == expected)
    }

    @Test("The commits tell what another program has changed, if a process knew the entries before")
    func told() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        let revision = try #require(try one.set(["a": 2]).revision)
        try fixture.write(["a": 1, "b": 9])
        _ = try one.load()
        let commits = try #require(try fixture.backend().journal.commits(since: revision))
        #expect(commits.map(\.edits) == [["b": .init(from: 1, to: 9)]])
        #expect(commits.first?.writer == "another program")
        #expect(try one.load().revision?.number == 2)
    }

    @Test("If nobody knew the entries before, the commits since are not known")
    func unknown() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let revision = try #require(try fixture.backend().set(["a": 2]).revision)
        try fixture.write(["a": 1, "b": 9])
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 2, "b": 9])
        #expect(try later.journal.commits(since: revision) == nil)
        let after = try #require(try later.load().revision)
        #expect(after.isNewer(than: revision))
        try later.set(["a": 3])
        #expect(try later.journal.commits(since: after)?.count == 1)
    }

    @Test("A program that writes a copy older than a checkpoint does not undo commits after it")
    func stale() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        try one.checkpoint()
        try one.set(["a": 3])
        // The program has read the list before: with a = 2.
        try fixture.write(["a": 2, "b": 9])
        #expect(try one.load().values == ["a": 3, "b": 9])
    }

    @Test("A list that another program deletes is empty afterwards", arguments: [false, true])
    func deleted(isKnown: Bool) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend(calls: .withoutPauses)
        try one.set(["a": 2])
        try FileManager.default.removeItem(at: fixture.file)
        let reader = isKnown ? one : fixture.backend(calls: .withoutPauses)
        #expect(try reader.load().values == [:])
        try reader.set(["c": 3])
        try reader.checkpoint()
        #expect(try fixture.stored() == ["c": 3])
        #expect(try one.load().values == ["c": 3])
    }

    @Test("A list that is truncated while nobody has it open is reported, and the commits that it did not have are kept")
    func truncated() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1, "d": ["x": 1]])
        let one = fixture.backend()
        try one.set(["a": 2, "new": 2, "b": nil])
        _ = try one.edit { try $0.set(5, at: EntryName(own: "d", path: ["y"])) }
        try #require(truncate(fixture.file.path, 0) == 0)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: fixture.file.path)
        let expected: [String: PropertyListValue] = ["a": 2, "new": 2, "d": ["x": 1, "y": 5]]
        let reader = PropertyListFile(at: fixture.file, access: .readOnly)
        let next = fixture.backend()
        for backend in [reader, next] {
            #expect(try backend.load().values == expected)
            #expect(backend.told.map(\.description).map { $0.contains("truncated") } == [true])
        }
        let later = fixture.backend()
        #expect(try later.load().values == expected)
        #expect(later.told.isEmpty)
        try later.checkpoint()
        #expect(try fixture.stored() == expected)
        // A store that had the list open meanwhile.
        #expect(try one.load().values == expected)
    }

    @Test("A list that was empty, and is only touched or copied, is the same list, and not reported as truncated", arguments: ["", "\n"])
    func empty(content: String) throws {
        let fixture = try JournalFixture()
        try Data(content.utf8).write(to: fixture.file)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: fixture.file.path)
        let one = fixture.backend()
        #expect(try one.load().values.isEmpty)
        let revision = try one.set(["a": 1]).revision
        let copy = try TemporaryFolder.inMemory()
        let folder = copy.url.appendingPathComponent("copy")
        try FileManager.default.copyItem(at: fixture.folder.url, to: folder)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: fixture.file.path)
        let next = fixture.backend()
        let entries = try next.load()
        #expect(entries.values == ["a": 1])
        #expect(entries.revision == revision)
        let other = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .full())
        #expect(try other.load().values == ["a": 1])
        #expect(one.told.isEmpty && next.told.isEmpty && other.told.isEmpty)
    }

    @Test("A list that is replaced while it is read for the first time, and then truncated, is reported once")
    func truncatedMeanwhile() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        let openings = Lock(0)
        var calls = FileSystemCalls.withoutPauses
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if path.name == "settings.plist" {
                switch openings.withLock({ ($0, $0 += 1).0 }) {
                case 0: #expect(throws: Never.self) { try fixture.write(["b": 1]) }
                case 1:
                    #expect(truncate(fixture.file.path, 0) == 0)
                    #expect(throws: Never.self) {
                        let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 0)]
                        try FileManager.default.setAttributes(attributes, ofItemAtPath: fixture.file.path)
                    }
                default: break
                }
            }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let next = fixture.backend(calls: calls)
        #expect(try next.load().values == ["a": 2])
        #expect(openings.withLock { $0 } > 2)
        #expect(next.told.map(\.description).map { $0.contains("truncated") } == [true])
    }

    @Test("A deleted list is written again with its last values, if that is wanted")
    func kept() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend(onDeletion: .keepLastValues, calls: .withoutPauses)
        try one.set(["a": 2])
        try FileManager.default.removeItem(at: fixture.file)
        #expect(try one.load().values == ["a": 2, "b": 1])
        try one.checkpoint()
        #expect(try fixture.stored() == ["a": 2, "b": 1])
    }

    @Test("An older copy that is restored wins over everything that was in the list")
    func restored() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        let copy = try Data(contentsOf: fixture.file)
        for number in 2...4 {
            try one.set(["a": .integer(PropertyListInteger(Int64(number)))])
            try one.checkpoint()
        }
        try one.set(["b": 5])
        try copy.write(to: fixture.file, options: .atomic)
        // b was not changed between the list in place and the copy.
        #expect(try one.load().values == ["a": 1, "b": 5])
    }

    @Test("A list whose times a program changes all the time is opened and written", arguments: [false, true])
    func touched(isBinary: Bool) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1], format: isBinary ? .binary : .xml)
        try fixture.backend().set(["a": 2])
        var calls = FileSystemCalls.withoutPauses
        // Whenever the journal is read, after the list was looked at.
        calls.readBytesAt = { [path = fixture.file.path] descriptor, buffer, offset throws(SystemError) in
            Disk.touch(path)
            return try FileSystemCalls.live.readBytesAt(descriptor, buffer, offset)
        }
        #expect(try fixture.backend(calls: calls).load().values == ["a": 2, "b": 1])
        try fixture.backend(calls: calls).set(["c": 3])
        #expect(try fixture.backend().load().values == ["a": 2, "b": 1, "c": 3])
    }

    @Test("A list that a program overwrites all the time, with as many bytes, is not taken for an unchanged one")
    func overwritten() throws {
        let fixture = try JournalFixture(["a": 0], format: .xml)
        try fixture.backend().set(["b": 2])
        let lists = try (0..<7).map { number in
            let list = PropertyListValue.dictionary(["a": .integer(PropertyListInteger(Int64(number)))])
            return String(decoding: try list.encoded(as: .xml), as: UTF8.self)
        }
        let number = Lock(0)
        var calls = FileSystemCalls.withoutPauses
        calls.readBytesAt = { [path = fixture.file.path] descriptor, buffer, offset throws(SystemError) in
            let next = number.withLock { number in
                number += 1
                return number
            }
            Disk.overwrite(path, lists[next % lists.count])
            return try FileSystemCalls.live.readBytesAt(descriptor, buffer, offset)
        }
        let reason = "it keeps changing while it is read"
        #expect(throws: StorageError.unreadable(file: fixture.file.path, reason: reason)) { try fixture.backend(calls: calls).load() }
    }

    @Test("The very file of an earlier list, moved back, is another program's list as well")
    func movedBack() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        let aside = fixture.folder.file("aside")
        try FileManager.default.linkItem(at: fixture.file, to: aside)
        try one.checkpoint()
        try one.set(["b": 1])
        try one.checkpoint()
        #expect(try fixture.stored() == ["a": 2, "b": 1])
        try FileManager.default.removeItem(at: fixture.file)
        try FileManager.default.moveItem(at: aside, to: fixture.file)
        #expect(try fixture.backend().load().values == ["a": 1])
        #expect(try one.load().values == ["a": 1])
    }

    @Test("A malformed list is an error, and the journal does not hide it")
    func malformed() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        try Data("no property list".utf8).write(to: fixture.file, options: .atomic)
        #expect(throws: StorageError.self) { try fixture.backend().load() }
        #expect(throws: StorageError.self) { try fixture.backend().set(["b": 1]) }
    }

    // MARK: The journal itself

    @Test("A journal that is removed while a process knows it loses nothing, and another history begins")
    func removed() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        let before = try #require(try one.set(["a": 2]).revision)
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(try one.load().values == ["a": 2])
        #expect(try one.load().revision?.history != before.history)
        #expect(try fixture.backend().load().values == ["a": 2])
        try one.checkpoint()
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("A journal that is removed while nobody knows it leaves what the list holds")
    func removedUnknown() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(try fixture.backend().load().values == ["a": 1])
    }

    @Test("A process that knows of no journal any more does not undo what one that knew it has committed")
    func removedBetween() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        try FileManager.default.removeItem(at: fixture.journal)
        try fixture.backend().set(["b": 5])
        #expect(try one.load().values == ["a": 2, "b": 5])
        #expect(try fixture.backend().load().values == ["a": 2, "b": 5])
    }

    @Test(
        "For who only reads, a journal that is removed counts until another list is in place, or another journal",
        arguments: [JournalMode.off, .full()])
    func removedForReaders(mode: JournalMode) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let reader = PropertyListFile(at: fixture.file, access: .readOnly)
        try fixture.backend().set(["a": 2])
        #expect(try reader.load().values == ["a": 2, "b": 1])
        try FileManager.default.removeItem(at: fixture.journal)
        #expect(try reader.load().values == ["a": 2, "b": 1])
        try fixture.backend(mode).set(["b": 5])
        if mode == .off {
            #expect(try reader.load().values == ["a": 1, "b": 5])
        } else {
            // The list is the one that the lost journal was of.
            #expect(try reader.load().values == ["a": 2, "b": 5])
        }
        try fixture.write(["a": 1, "b": 7])
        #expect(try reader.load().values == ["a": 1, "b": 7])
    }

    @Test("A journal that is cut counts up to its last whole record, for those who did not know the rest")
    func cut() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        let size = try fixture.journalEnd()
        try one.set(["a": 3])
        let handle = try FileHandle(forWritingTo: fixture.journal)
        try handle.truncate(atOffset: UInt64(size + 20))
        try handle.close()
        #expect(try fixture.backend().load().values == ["a": 2])
        // The process that knew it writes it again.
        #expect(try one.load().values == ["a": 3])
        #expect(try fixture.backend().load().values == ["a": 3])
    }

    @Test("Bytes after the last record are not in the journal of the next commit, which tells of them")
    func garbage() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        try fixture.damage(at: fixture.journalEnd(), Data(repeating: 7, count: 100))
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 2])
        try later.set(["b": 1])
        #expect(later.told.count == 1)
        #expect(try fixture.backend().load().values == ["a": 2, "b": 1])
    }

    @Test("A record that is damaged while a process knows it loses nothing")
    func damaged() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        let size = try fixture.journalEnd()
        try one.set(["b": 3])
        try fixture.damage(at: size + 40, Data([0xff, 0xff]))
        let other = fixture.backend()
        #expect(try other.load().values == ["a": 2])
        try other.set(["c": 4])
        #expect(try one.load().values == ["a": 2, "b": 3, "c": 4])
        #expect(try other.load().values == ["a": 2, "b": 3, "c": 4])
    }

    @Test("A file that is no journal is told, and replaced by the next commit")
    func noJournal() throws {
        let fixture = try JournalFixture(["a": 1])
        try Data("something else".utf8).write(to: fixture.journal)
        let backend = fixture.backend()
        #expect(try backend.load().values == ["a": 1])
        #expect(backend.told.count == 1)
        try backend.set(["a": 2])
        #expect(try fixture.backend().load().values == ["a": 2])
    }

    @Test(
        "A list that is written again as it was while no store knows it has changed nothing, and what has changed before is known",
        arguments: [false, true])
    func writtenAsItWas(isPending: Bool) throws {
        let fixture = try JournalFixture(["a": 1])
        let own = fixture.backend()
        try own.set(["a": 2])
        try own.checkpoint()
        let first = try #require(try own.load().revision)
        try own.set(["a": 3])
        if !isPending { try own.checkpoint() }
        let last = try #require(try own.load().revision)
        try Data(contentsOf: fixture.file).write(to: fixture.file, options: .atomic)
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 3])
        #expect(try later.load().revision == last)
        #expect(try later.journal.commits(since: first)?.map(\.edits) == [["a": .init(from: 2, to: 3)]])
        try later.checkpoint()
        #expect(try fixture.stored() == ["a": 3])
        #expect(try fixture.backend().load().revision == last)
        #expect(try own.load().revision == last)
    }

    @Test("The journal of a later version is refused, with the remedy")
    func later() throws {
        let fixture = try JournalFixture(["a": 1])
        try (Data("plJRNL99".utf8) + Data(count: 100)).write(to: fixture.journal)
        let refusal = #expect(throws: StorageError.self) { try fixture.backend().load() }
        #expect(refusal.map { "\($0)".contains("use that one, or remove the journal") } == true)
        #expect(throws: StorageError.self) { try fixture.backend().set(["a": 2]) }
        #expect(try fixture.stored() == ["a": 1])
    }

    // MARK: Copies

    @Test(
        "A journal that is replaced by an older copy, or by its beginning, loses nothing that a live store knows",
        arguments: [false, true], [1, 4])
    func replacedJournal(isCut: Bool, after count: Int) throws {
        let fixture = try JournalFixture(["k": 0])
        let live = fixture.backend()
        try live.set(["k": 1])
        let older = try Data(contentsOf: fixture.journal)
        let end = try fixture.journalEnd()
        for value in 0..<count { try live.set(["k\(value)": .integer(PropertyListInteger(Int64(value)))]) }
        let values = try live.load().values
        try (isCut ? Data(contentsOf: fixture.journal).prefix(end) : older).write(to: fixture.journal, options: .atomic)
        #expect(try live.load().values == values)
        try live.set(["last": true])
        var expected = values
        expected["last"] = true
        #expect(try live.load().values == expected)
        #expect(try fixture.backend().load().values == expected)
    }

    @Test("A copy of the folder has the same entries, and a history of its own", arguments: [false, true])
    func copy(afterCheckpoint: Bool) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        if afterCheckpoint { try one.checkpoint() }
        try one.set(["a": 1, "b": 3])
        let copy = try TemporaryFolder.inMemory()
        let folder = copy.url.appendingPathComponent("copy")
        try FileManager.default.copyItem(at: fixture.folder.url, to: folder)
        let backend = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .full())
        #expect(try backend.load().values == ["a": 1, "b": 3])
        #expect(try backend.load().revision?.history != one.load().revision?.history)
        try backend.set(["c": 1])
        try one.set(["d": 1])
        #expect(try backend.load().values == ["a": 1, "b": 3, "c": 1])
        #expect(try one.load().values == ["a": 1, "b": 3, "d": 1])
        #expect(backend.told.isEmpty)
    }

    @Test("A copy whose list was copied long before its journal has a state that there was")
    func copiedLate() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        try one.checkpoint()
        let copy = try TemporaryFolder.inMemory()
        let list = copy.file("settings.plist")
        try FileManager.default.copyItem(at: fixture.file, to: list)
        try one.set(["b": 2])
        try one.checkpoint()
        try one.set(["a": 3])
        try FileManager.default.copyItem(
            at: fixture.journal, to: URL(fileURLWithPath: ResolvedPath("settings.plist", in: copy.url.path).journal.path))
        #expect(try PropertyListFile(at: list, journal: .full()).load().values == ["a": 3, "b": 2])
    }

    @Test("The journal of another list is told, and not used")
    func otherList() throws {
        let (fixture, other) = (try JournalFixture(["a": 1]), try JournalFixture(["a": 7, "b": 8]))
        try other.backend().set(["a": 9])
        try FileManager.default.copyItem(at: other.journal, to: fixture.journal)
        let backend = fixture.backend()
        #expect(try backend.load().values == ["a": 1])
        #expect(backend.told.count == 1)
    }

    @Test("A folder that is moved keeps its history")
    func moved() throws {
        let fixture = try JournalFixture(["a": 1])
        let revision = try fixture.backend().set(["a": 2]).revision
        let folder = try TemporaryFolder.inMemory()
        let target = folder.url.appendingPathComponent("moved")
        try FileManager.default.moveItem(at: fixture.folder.url, to: target)
        let backend = PropertyListFile(at: target.appendingPathComponent("settings.plist"), journal: .full())
        #expect(try backend.load().values == ["a": 2])
        #expect(try backend.load().revision == revision)
    }
}
