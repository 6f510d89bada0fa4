import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Formats, damage, errors, and what grows.
@Suite("The limits of a journal", .timeLimit(.minutes(10)))
struct JournalLimitsTests {
    private func integer(_ number: Int) -> PropertyListValue {
        .integer(PropertyListInteger(Int64(number)))
    }

    // MARK: Formats

    @Test("After another process has converted the list to XML, what XML has not is refused")
    func converted() throws {
        let fixture = try JournalFixture(["a": 1])
        let (one, two) = (fixture.backend(), fixture.backend())
        try one.set(["a": 2])
        try two.convert(to: .xml) { _ in }
        #expect(try PropertyListValue.decode(Data(contentsOf: fixture.file)).format == .xml)
        #expect(throws: StorageError.self) { try one.set(["bad": "\u{1}"]) }
        try two.checkpoint()
        try one.checkpoint()
    }

    @Test("After another program has converted the list to XML, dates are rounded for all processes")
    func convertedByOthers() throws {
        let fixture = try JournalFixture(["a": 1])
        let (one, two) = (fixture.backend(), fixture.backend())
        try one.set(["a": 2])
        try one.checkpoint()
        _ = try two.load()
        try fixture.write(fixture.stored(), format: .xml)
        _ = try two.load()
        try one.set(["date": .date(Date(timeIntervalSinceReferenceDate: 100.75))])
        try one.checkpoint()
        let (fresh, live) = (try fixture.backend().load(), try one.load())
        #expect(fresh.revision == live.revision)
        #expect(fresh.values == live.values)
    }

    @Test("A program that only converts the list to XML undoes no commit")
    func rounded() throws {
        let fixture = try JournalFixture(["d": .date(Date(timeIntervalSinceReferenceDate: 100.75))])
        let backend = fixture.backend()
        try backend.set(["d": .date(Date(timeIntervalSinceReferenceDate: 200))])
        try fixture.write(fixture.stored(), format: .xml)
        #expect(try backend.load()["d"] == .date(Date(timeIntervalSinceReferenceDate: 200)))
    }

    @Test("A list becomes binary if another store has committed what XML has not")
    func policies() throws {
        let fixture = try JournalFixture(["a": 1], format: .xml)
        let lax = PropertyListFile(
            at: fixture.file, configuration: .with { ($0.formatPolicy, $0.journal) = (.binaryWhenNecessary, .full()) })
        _ = try lax.load()
        try lax.set(["control": "\u{1}"])
        let strict = fixture.backend()
        try strict.set(["a": 2])
        try strict.checkpoint()
        #expect(try fixture.stored() == ["a": 2, "control": "\u{1}"])
    }

    @Test("A deleted list is written again without what was removed before", arguments: PropertyListFormat.allCases)
    func kept(format: PropertyListFormat) throws {
        let fixture = try JournalFixture(["a": 1, "b": 1], format: format)
        var calls = FileSystemCalls.live
        calls.pause = { _ in }
        let backend = fixture.backend(onDeletion: .keepLastValues, calls: calls)
        try backend.set(["b": nil, "c": 3])
        try FileManager.default.removeItem(at: fixture.file)
        #expect(try backend.load().values == ["a": 1, "c": 3])
        try backend.checkpoint()
        #expect(try fixture.stored() == ["a": 1, "c": 3])
    }

    // MARK: What is missing or damaged

    @Test("A list that is missing while a process opens it is not taken for deleted when it is back")
    func movedAside() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        let aside = fixture.folder.file("settings.plist~")
        try FileManager.default.moveItem(at: fixture.file, to: aside)
        _ = try fixture.backend().load()
        try FileManager.default.moveItem(at: aside, to: fixture.file)
        #expect(try fixture.backend().load().values == ["a": 2])
    }

    @Test("An editor that deletes a list with a journal and writes it again a moment later has removed nothing", arguments: [false, true])
    func writtenAgain(isEdit: Bool) throws {
        let fixture = try JournalFixture(["a": 1])
        var calls = FileSystemCalls.live
        calls.pause = { _ in
            if FileManager.default.fileExists(atPath: fixture.file.path) { return }
            do { try fixture.write(["a": 1, "b": 2]) } catch { Issue.record(error) }
        }
        let backend = fixture.backend()
        try backend.set(["b": 2])
        try backend.checkpoint()
        try FileManager.default.removeItem(at: fixture.file)
        let opened = fixture.backend(calls: calls)
        let found = try isEdit ? opened.set(["b": 3]) : opened.load()
        #expect(found.values == ["a": 1, "b": isEdit ? 3 : 2])
    }

    @Test("A list that was deleted is waited for once, until it is there again")
    func waitedForOnce() throws {
        let fixture = try JournalFixture(["a": 1])
        let waited = Lock(Duration.zero)
        var calls = FileSystemCalls.live
        calls.pause = { duration in waited.withLock { $0 += duration } }
        let backend = fixture.backend(calls: calls)
        try backend.set(["b": 2])
        for _ in 0..<2 {
            try FileManager.default.removeItem(at: fixture.file)
            #expect(try backend.load().values == [:])
            try backend.set(["c": 3])
            try backend.checkpoint()
            #expect(waited.exchange(.zero) == .milliseconds(500))
            #expect(try fixture.stored() == ["c": 3])
        }
    }

    @Test("A list that another process has written since is waited for again, and the commits that it lacks are kept")
    func waitedForAgain() throws {
        let fixture = try JournalFixture(["a": 1])
        let isMoved = Lock(false)
        var calls = FileSystemCalls.live
        calls.pause = { _ in
            if isMoved.exchange(false) { #expect(throws: Never.self) { try fixture.write(["b": 2, "edited": 1]) } }
        }
        let (backend, other) = (fixture.backend(calls: calls), fixture.backend(calls: calls))
        try backend.set(["a": 2])
        try FileManager.default.removeItem(at: fixture.file)
        #expect(try backend.load().values == [:])
        try other.set(["b": 2])
        try other.checkpoint()
        try other.set(["c": 3])
        // An editor moves it away, and writes it again.
        try FileManager.default.removeItem(at: fixture.file)
        isMoved.exchange(true)
        try backend.set(["d": 4])
        #expect(try fixture.backend().load().values == ["b": 2, "edited": 1, "c": 3, "d": 4])
    }

    @Test("Reading makes no folder again that was removed")
    func folderRemoved() throws {
        let fixture = try JournalFixture()
        let folder = fixture.folder.url.appendingPathComponent("sub")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let backend = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .full())
        try backend.set(["a": 2])
        try backend.checkpoint()
        try FileManager.default.removeItem(at: folder)
        #expect(try backend.load().values == [:])
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("Commits that a removed journal had are made again, also if another program has replaced the list meanwhile")
    func removedAndForeign() throws {
        let fixture = try JournalFixture(["a": 1, "b": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        try FileManager.default.removeItem(at: fixture.journal)
        try fixture.backend().set(["b": 5])
        try fixture.write(["a": 1, "b": 1, "c": 1])
        #expect(try one.load()["a"] == 2)
    }

    @Test("A checkpoint of a process that cannot read a damaged record takes nothing from those that have read it")
    func damagedBeforeCheckpoint() throws {
        let fixture = try JournalFixture(["a": 1])
        let one = fixture.backend()
        try one.set(["a": 2])
        let end = try fixture.journalEnd()
        try one.set(["b": 3])
        try one.set(["text": .string(String(repeating: "x", count: 2_000))])
        try fixture.damage(at: end + 40, Data([0xff, 0xff]))
        let other = fixture.backend()
        try other.checkpoint()
        #expect(other.told.count == 1)
        try one.set(["c": 4])
        let found = try fixture.backend().load()
        #expect(found["b"] == 3)
        #expect(found["c"] == 4)
    }

    // MARK: Errors

    @Test("A checkpoint throws the reason why a list of another program cannot be taken over, and reports nothing")
    func fullDisk() throws {
        let fixture = try JournalFixture(["a": 1])
        let isFull = Lock(false)
        let recorder = CallRecorder { _, name in name == "writeAt" && isFull.withLock { $0 } ? ENOSPC : nil }
        let backend = fixture.backend(calls: recorder.calls)
        try backend.set(["a": 2])
        try fixture.write(["a": 1, "b": 9])
        isFull.withLock { $0 = true }
        let error = #expect(throws: StorageError.self) { try backend.checkpoint() }
        #expect(error?.description.contains(SystemError(ENOSPC).reason) == true)
        #expect(backend.told.isEmpty)
    }

    @Test("A checkpoint that is interrupted by a suspension throws that")
    func suspended() async throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        try backend.set(["a": 2])
        try fixture.write(["a": 1, "b": 9])
        let interruption = Interruption()
        interruption.request(.suspension)
        do {
            try await interruption.cover { try backend.checkpoint() }
            Issue.record("not interrupted")
        } catch StorageError.suspended {
            #expect(try fixture.stored() == ["a": 1, "b": 9])
        }
    }

    // MARK: Bounds

    @Test("A journal is shortened without a checkpoint if only other programs write, and without a call if only commits are made")
    func bounded() throws {
        for isForeign in [false, true] {
            let fixture = try JournalFixture(["a": 1])
            let backend = fixture.backend(.full(keeping: 1_024))
            try backend.set(["a": 2])
            try backend.checkpoint()
            for number in 0..<200 {
                if isForeign {
                    try fixture.write(["a": 2, "n": integer(number)])
                    _ = try backend.load()
                } else {
                    try backend.set(["a": integer(number)])
                }
            }
            #expect(try fixture.journalEnd() < 16_384)
        }
    }

    @Test("A journal has room for commits, and grows by more when it has not, as far as the disk has room")
    func room() throws {
        let fixture = try JournalFixture(["a": 1])
        let isFull = Lock(false)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFull.withLock({ $0 }), bytes.count > JournalFormat.room * 3 / 2 { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        let backend = fixture.backend(calls: calls)
        func size() throws -> Int { try Data(contentsOf: fixture.journal).count }
        try backend.set(["a": 2])
        let (first, end) = (try size(), try fixture.journalEnd())
        try backend.set(["a": 3])
        #expect(try size() == first)
        #expect(try fixture.journalEnd() > end)
        let text = PropertyListValue.string(String(repeating: "x", count: first))
        try backend.set(["text": text])
        #expect(try size() == fixture.journalEnd() + JournalFormat.room)
        isFull.withLock { $0 = true }
        try backend.set(["other": text])
        #expect(try size() == fixture.journalEnd())
        #expect(try fixture.backend().load().values == ["a": 3, "text": text, "other": text])
        #expect(backend.told.isEmpty)
    }

    @Test("A commit for which the disk has no space leaves the room of the journal to smaller ones")
    func keptRoom() throws {
        let fixture = try JournalFixture(["a": 1])
        let space = Lock(Int.max)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            let left = space.withLock { $0 } - offset
            if left <= 0 { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(left)), offset)
        }
        let backend = fixture.backend(calls: calls)
        try backend.set(["a": 2])
        let (size, end) = (try Data(contentsOf: fixture.journal).count, try fixture.journalEnd())
        space.withLock { $0 = size }
        #expect(throws: StorageError.self) { try backend.set(["text": .string(String(repeating: "x", count: size))]) }
        let bytes = try Data(contentsOf: fixture.journal)
        #expect(bytes.count == size)
        #expect(bytes.dropFirst(end).allSatisfy { $0 == 0 })
        try backend.set(["a": 3])
        #expect(try fixture.backend().load().values == ["a": 3])
        #expect(backend.told.isEmpty)
    }

    @Test("A journal that cannot be shortened is used as it is, which is reported once")
    func notShortened() throws {
        let fixture = try JournalFixture(["a": 1])
        let isFull = Lock(false)
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if isFull.withLock({ $0 }), to.path.hasSuffix(".journal") { throw SystemError(ENOSPC) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let backend = fixture.backend(.full(keeping: 1_024), calls: calls)
        try backend.set(["a": 2])
        isFull.withLock { $0 = true }
        let text = PropertyListValue.string(String(repeating: "x", count: 10_000))
        for number in 3...4 {
            try backend.set(["a": integer(number), "text": text])
            try backend.checkpoint()
            #expect(try fixture.stored() == ["a": integer(number), "text": text])
        }
        #expect(backend.told.count == 1)
        #expect(backend.told.first?.description.contains(SystemError(ENOSPC).reason) == true)
        isFull.withLock { $0 = false }
        try backend.set(["a": 5])
        try backend.checkpoint()
        try backend.set(["a": 6])
        try backend.checkpoint()
        #expect(try fixture.journalEnd() < 4_096)
        #expect(try fixture.backend().load().values == ["a": 6, "text": text])
    }

    @Test("A journal is made without room for later commits if the disk has none")
    func madeWithoutRoom() throws {
        let fixture = try JournalFixture(["a": 1])
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            let space = JournalFormat.room / 2
            if offset >= space { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(space - offset)), offset)
        }
        let backend = fixture.backend(calls: calls)
        for number in 2...3 {
            try backend.set(["a": integer(number)])
            #expect(try Data(contentsOf: fixture.journal).count == fixture.journalEnd())
        }
        #expect(try fixture.backend().load().values == ["a": 3])
        #expect(backend.told.isEmpty)
    }

    @Test("A record whose beginning is missing is not in the journal of the next commit, which tells of it")
    func missingBeginning() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        try fixture.damage(at: fixture.journalEnd() + 600, Data(repeating: 7, count: 100))
        let later = fixture.backend()
        try later.set(["b": 1])
        #expect(later.told.count == 1)
        #expect(try fixture.backend().load().values == ["a": 2, "b": 1])
    }

    @Test("A journal that is cut during an edit is made again, and nothing is added after the gap")
    func cutDuringEdit() throws {
        let fixture = try JournalFixture(["a": 1])
        try fixture.backend().set(["a": 2])
        let end = try fixture.journalEnd()
        // One that knows no entries yet runs the edit under the lock.
        var runs = 0
        _ = try fixture.backend().edit { entries in
            runs += 1
            if runs == 1 { #expect(truncate(fixture.journal.path, off_t(end - 8)) == 0) }
            entries["b"] = 1
        }
        #expect(runs == 2)
        #expect(try fixture.backend().load().values == ["a": 2, "b": 1])
    }

    @Test("A journal that is larger than any can be is told, and replaced by the next commit")
    func huge() throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend()
        try backend.set(["a": 2])
        try backend.checkpoint()
        // Without blocks on the medium.
        #expect(truncate(fixture.journal.path, 1 << 30 + 1 << 12) == 0)
        let later = fixture.backend()
        #expect(try later.load().values == ["a": 2])
        #expect(later.told.count == 1)
        try later.set(["a": 3])
        #expect(try fixture.backend().load().values == ["a": 3])
    }

    @Test("As much may be kept as there is", arguments: [Int.min, 0, Int.max])
    func keeping(bytes: Int) throws {
        let fixture = try JournalFixture(["a": 1])
        let backend = fixture.backend(.full(keeping: bytes))
        try backend.set(["a": 2])
        try backend.checkpoint()
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("No descriptor stays open")
    func descriptors() throws {
        let recorder = CallRecorder()
        do {
            let fixture = try JournalFixture(["a": 1])
            let backend = fixture.backend(.full(keeping: 256), calls: recorder.calls)
            for number in 0..<50 {
                try backend.set(["a": integer(number)])
                if number.isMultiple(of: 3) { try backend.checkpoint() }
                if number.isMultiple(of: 7) { try FileManager.default.removeItem(at: fixture.journal) }
                if number.isMultiple(of: 11) { try fixture.write(["a": 1, "n": integer(number)]) }
            }
        }
        #expect(recorder.openDescriptors.isEmpty)
    }
}
