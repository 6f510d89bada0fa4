import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Logs of dead stores", .timeLimit(.minutes(10)))
struct DeadStoreTests {
    private let key = StorageKey("k", default: 0)

    private func failures(_ backend: PropertyListFile) -> [StorageError] {
        backend.list.reports.kept.withLock { $0 }
    }

    /// A storage that, if it does wait for the lock, waits for less than the time limit of the tests.
    private func impatient(_ fixture: EditLogFixture, _ mode: JournalMode = .edits) -> PropertyListFile {
        PropertyListFile(at: fixture.file, configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(5), mode) }, calls: .live)
    }

    @Test("Whoever opens the file next makes the edits of a dead store, and removes its log", arguments: PropertyListFormat.allCases)
    func opening(format: PropertyListFormat) throws {
        let fixture = try EditLogFixture(["k": 1], format: format)
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]))
        #expect(fixture.logNames.count == 1)
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 3])
        #expect(failures(backend).isEmpty)
        #expect(try fixture.stored() == ["k": 3])
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("A store that is open already makes the edits of a dead one before its own next commit")
    func nextCommit() async throws {
        let fixture = try EditLogFixture(["k": 1])
        let store = try ObservableStore(at: fixture.file, journal: .edits)
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let seen = try await store.update { transaction in
            defer { transaction[StorageKey("other", default: 0)] = 1 }
            return transaction[key]
        }
        #expect(seen == 2)
        #expect(store[key] == 2)
        try await store.close()
        #expect(try fixture.stored() == ["k": 2, "other": 1])
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("A log that somebody else reads at this moment is replayed nevertheless, or an edit would be made without it")
    func readByOthers() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        var reader = EditLogFolder(list: fixture.list, calls: .live)
        let logs = try reader.deadLogs()
        #expect(logs.count == 1)
        #expect(try PropertyListFile(at: fixture.file, journal: .edits).editReplaying().values == ["k": 2])
        reader.release(logs)
        #expect(try fixture.stored() == ["k": 2])
        #expect(fixture.logNames.isEmpty)
    }

    @Test("The edits of a dead store are on the medium, in the journal, before its log is removed")
    func durableBeforeRemoval() throws {
        let fixture = try EditLogFixture(["k": 1])
        _ = try PropertyListFile(at: fixture.file, journal: .full()).edit { $0["other"] = 1 }
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let steps = Lock<[String]>([])
        var calls = FileSystemCalls.live
        calls.synchronizeData = { descriptor throws(SystemError) in
            try FileSystemCalls.live.synchronizeData(descriptor)
            steps.withLock { $0.append("synchronize") }
        }
        calls.removeFile = { path throws(SystemError) in
            if path.folder == fixture.logs { steps.withLock { $0.append("remove") } }
            try FileSystemCalls.live.removeFile(path)
        }
        let next = PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .full() }, calls: calls)
        #expect(try next.load()["k"] == 2)
        #expect(steps.withLock { $0.prefix(2) } == ["synchronize", "remove"])
    }

    @Test("A file that others put in place of the log of a dead store, after its edits were read, is kept")
    func exchanged() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let path = try fixture.log().path
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            do { try Disk.replace(path, "other") } catch { Issue.record(error) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        #expect(try fixture.backend(calls: calls).load().values == ["k": 2])
        #expect(try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8) == "other")
    }

    @Test("The log of a living store is left alone")
    func living() async throws {
        let fixture = try EditLogFixture(["k": 1])
        let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: 4_096)
        log.publish()
        #expect(log.add(EditLogFixture.chain("k", from: 1, [2])[0]))
        #expect(try PropertyListFile(at: fixture.file, journal: .edits).load().values == ["k": 1])
        #expect(fixture.logNames.count == 1)
        withExtendedLifetime(log) {}
    }

    @Test("Edits that were committed are not made again")
    func committed() throws {
        let fixture = try EditLogFixture(["k": 1])
        // Another store has set 1 again since 3 was stored.
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]), committed: 2)
        #expect(try PropertyListFile(at: fixture.file, journal: .edits).load().values == ["k": 1])
        #expect(fixture.logNames.isEmpty)
    }

    @Test("A later value of somebody else wins, which the store that opens the file reports once")
    func conflict() async throws {
        let fixture = try EditLogFixture(["k": 9])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let store = try ObservableStore(at: fixture.file, journal: .edits)
        #expect(store[key] == 9)
        for await failure in store.failures {
            #expect(failure == .conflict(file: fixture.file.path, keys: ["k"]))
            #expect(failure.description.contains("\"k\""))
            break
        }
        try await store.close()
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 9])
        #expect(failures(backend).isEmpty)
    }

    @Test("A reader makes no edits, and leaves the log")
    func readOnly() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        #expect(try PropertyListFile(at: fixture.file, access: .readOnly).load().values == ["k": 1])
        #expect(fixture.logNames.count == 1)
    }

    @Test("A value that the format cannot represent is reported and dropped, and the others are made")
    func unencodable() throws {
        let fixture = try EditLogFixture(["k": 1], format: .xml)
        try fixture.leaveLog(EditLogFixture.chain("bad", from: nil, ["\u{1}"]) + EditLogFixture.chain("k", from: 1, [2]))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 2])
        #expect(failures(backend).count == 1)
        guard case .unencodable(key: "bad", _, _) = failures(backend).first else {
            Issue.record("reported: \(failures(backend))")
            return
        }
        #expect(fixture.logNames.isEmpty)
    }

    @Test("What is not a log is removed and reported; one that was never finished is removed silently")
    func garbage() throws {
        let fixture = try EditLogFixture(["k": 1])
        try FileManager.default.createDirectory(atPath: fixture.logs, withIntermediateDirectories: true)
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: fixture.logs + "/1-a"))
        try Data().write(to: URL(fileURLWithPath: fixture.logs + "/1-b"))
        try Data(count: 8_192).write(to: URL(fileURLWithPath: fixture.logs + "/1-c"))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 1])
        #expect(failures(backend).map { "\($0)".contains("1-a") } == [true])
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("A damaged record is reported, and does not take the later ones with it", arguments: 0..<3, [0, 1, 8, 16, 30, 40])
    func damaged(record: Int, offset: Int) throws {
        let fixture = try EditLogFixture(["a": 1, "b": 1, "k": 1])
        func edit(_ key: String, from old: PropertyListValue?, to new: PropertyListValue, _ sequence: UInt64) -> LoggedEdit {
            LoggedEdit(key: key, over: old.fingerprint, value: new, sequence: sequence)
        }
        try fixture.leaveLog([
            edit("k", from: 1, to: 2, 5), edit("a", from: 1, to: 2, 6), edit("k", from: 2, to: 3, 7), edit("b", from: 1, to: 2, 8),
            edit("k", from: 3, to: 4, 9),
        ])
        let (path, bytes) = try fixture.log()
        let length = Int(bytes[EditLogFormat.Header.size])
        let start = EditLogFormat.Header.size + record * length
        var damaged = bytes
        damaged[start + offset] ^= 8
        try damaged.write(to: URL(fileURLWithPath: path))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        let expected: [[String: PropertyListValue]] = [
            ["k": 1, "a": 2, "b": 2], ["k": 4, "a": 1, "b": 2], ["k": 2, "a": 2, "b": 2],
        ]
        #expect(try backend.load().values == expected[record])
        let name = fixture.file.path
        let reason = "its record at byte \(start) is damaged: edits of \(name) may be lost; check the values, and set them again"
        let conflicts = record == 1 ? [] : [StorageError.conflict(file: name, keys: ["k"])]
        #expect(failures(backend) == [.unreadable(file: path, reason: reason)] + conflicts)
        #expect(try fixture.stored() == expected[record])
        #expect(fixture.logNames.isEmpty)
    }

    @Test("Records that are left from before a half was emptied are no damage, nor is one that was not finished")
    func leftRecords() throws {
        let fixture = try EditLogFixture(["k": 1])
        let chain = EditLogFixture.chain("k", from: 1, [2, 3, 4, 5, 6])
        do {
            let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: 65_536)
            log.publish()
            for edit in chain.prefix(3) { #expect(log.add(edit)) }
            log.markCommitted(upTo: 3, in: nil)
            for edit in chain.suffix(2) { #expect(log.add(edit)) }
            withExtendedLifetime(log) {}
        }
        try PropertyListValue.dictionary(["k": 4]).encoded(as: .binary).write(to: fixture.file)
        var (path, bytes) = try fixture.log()
        bytes[EditLogFormat.Header.size + Int(bytes[EditLogFormat.Header.size]) + EditLogFormat.Record.sequence] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 5])
        #expect(failures(backend).isEmpty)
    }

    @Test(
        "A damaged record counts unless its edits are in the list",
        arguments: [
            ([1, 2, 3], 2, 1, false), ([1, 2, 3], 1, 0, false), ([1, 2, 3], .max, 1, false), ([1, 2, 3], 3, 1, false),
            ([1, 2, 3], 1, 1, true), ([1, 2, 3], 0, 0, true), ([1, 2, 4], 2, 1, true),
            // Edits that were logged again have the sequence of the last one.
            ([1, 3, 3], 2, 1, true),
        ] as [([UInt64], UInt64, Int, Bool)])
    func damagedCommitted(sequences: [UInt64], committed: UInt64, record: Int, isReported: Bool) throws {
        typealias Record = EditLogFormat.Record
        let fixture = try EditLogFixture()
        try fixture.leaveLog(sequences.map { LoggedEdit(key: "k", over: 0, value: 1, sequence: $0) })
        var (_, bytes) = try fixture.log()
        let field = EditLogFormat.Header.committed
        withUnsafeBytes(of: committed) { bytes.replaceSubrange(field..<field + 8, with: $0) }
        let start = EditLogFormat.Header.size + record * Int(bytes[EditLogFormat.Header.size])
        func damages() -> [Int]? { bytes.withUnsafeBytes { EditLogContent($0)?.damages.map(\.offset) } }
        bytes[start + Record.edits] ^= 1
        #expect(damages() == (isReported ? [start] : []))
        // The sequence is damaged as well: it is not known whether its edits are in the list, unless the next one shows it.
        bytes[start + Record.sequence] ^= 0x80
        #expect(damages() == (sequences[record + 1] > committed ? [start] : []))
    }

    @Test("Only a log of the list's owner counts, in a folder of the same user", .enabled(if: geteuid() == 0))
    func otherOwner() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let log = try fixture.logs + "/" + #require(fixture.logNames.first)
        // The group of a log tells nothing: the folder may have given it.
        for path in [log, fixture.logs, fixture.file.path] {
            #expect(try PropertyListFile(at: fixture.file, access: .readOnly).load().values == ["k": 1])
            try #require(chmod(fixture.file.path, 0o664) == 0 && chown(path, 12_345, getegid()) == 0)
            let isComplete = path == fixture.file.path
            #expect(try PropertyListFile(at: fixture.file, journal: .edits).load().values == ["k": isComplete ? 2 : 1], "\(path)")
            #expect(fixture.logNames.isEmpty == isComplete)
        }
    }

    @Test(
        "A log counts only if nobody but its owner may write it, or the folder of logs", arguments: [0o720, 0o702, 0o777], [true, false])
    func writableByOthers(permissions: mode_t, isFolder: Bool) throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let path = try isFolder ? fixture.logs : fixture.logs + "/" + #require(fixture.logNames.first)
        try #require(chmod(path, permissions) == 0)
        #expect(try PropertyListFile(at: fixture.file, journal: .edits).load().values == ["k": 1])
        #expect(fixture.logNames.count == 1)
    }

    @Test("The edits of many dead stores are made although only some of their logs can be open at once", arguments: [false, true])
    func many(isJournaled: Bool) throws {
        let fixture = try EditLogFixture(["k": 0])
        for value in 0..<200 {
            try fixture.leaveLog(
                EditLogFixture.chain(
                    "k", from: .integer(PropertyListInteger(Int64(value))), [.integer(PropertyListInteger(Int64(value + 1)))]))
            // The oldest first, whatever their names.
            let made = try #require(fixture.logNames.first { !$0.hasPrefix("old-") })
            let name = fixture.logs + "/old-\(made)"
            try #require(rename(fixture.logs + "/" + made, name) == 0)
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1e9 + Double(value))], ofItemAtPath: name)
        }
        let recorder = CallRecorder()
        let most = Lock(0)
        var calls = recorder.calls
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            guard recorder.openDescriptors.count < 100 else { throw SystemError(EMFILE) }
            most.withLock { $0 = max($0, recorder.openDescriptors.count) }
            return try recorder.calls.openDescriptor(path, flags, mode)
        }
        let backend = PropertyListFile(
            at: fixture.file,
            configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), isJournaled ? .full() : .edits) }, calls: calls)
        #expect(try backend.edit { $0["other"] = 1 }.values == ["k": 200, "other": 1])
        #expect(failures(backend).isEmpty)
        #expect(fixture.logNames.isEmpty)
        #expect(recorder.openDescriptors.count < 5, "\(recorder.openDescriptors.count)")
    }

    @Test("Reading does not wait for a writer that has the file locked: it has the edits of a dead store, and the next one makes them")
    func locked() throws {
        for (mode, format) in [(JournalMode.edits, PropertyListFormat.binary), (.edits, .xml), (.edits, .json), (.full(), .binary)] {
            let fixture = try EditLogFixture(["k": 1], format: format)
            try impatient(fixture, mode).set(["other": 1])
            try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]))
            let opened = impatient(fixture, mode)
            try FileLock.withLock(for: fixture.file.path, timeout: .zero) { () throws in
                let entries = try opened.load()
                #expect(entries.values == ["k": 3, "other": 1])
                // No storage has them: whoever resumes reads everything.
                #expect(entries.revision == nil)
                #expect(try impatient(fixture, mode).load().values == entries.values)
                #expect(fixture.logNames.count == 1)
            }
            let entries = try opened.load()
            #expect(entries.values == ["k": 3, "other": 1])
            #expect((entries.revision != nil) == (mode == .full()))
            #expect(fixture.logNames.isEmpty)
            #expect(try PropertyListFile(at: fixture.file, access: .readOnly).load().values == ["k": 3, "other": 1])
            #expect(failures(opened).isEmpty)
        }
    }

    @Test("What wins over an edit of a dead store is also read while the file is locked, and reported once, after that")
    func lockedConflict() throws {
        let fixture = try EditLogFixture(["k": 9])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let backend = impatient(fixture)
        try FileLock.withLock(for: fixture.file.path, timeout: .zero) { () throws in
            #expect(try backend.load().values == ["k": 9])
            #expect(failures(backend).isEmpty)
        }
        #expect(try backend.load().values == ["k": 9])
        #expect(try backend.load().values == ["k": 9])
        #expect(failures(backend) == [.conflict(file: fixture.file.path, keys: ["k"])])
    }

    @Test("A store that is opened while the file is locked stores the edits of a dead one as soon as it can, also if it makes none")
    func storedLater() async throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let holder = open(fixture.list.lockFile.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(holder, LOCK_EX | LOCK_NB) == 0)
        let store = try ObservableStore(at: fixture.file, configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(5), .edits) })
        #expect(store[key] == 2)
        #expect(try fixture.stored() == ["k": 1])
        unlockAndClose(holder)
        for await _ in FileWatcher.events(at: fixture.file.path) {
            if try fixture.stored() == ["k": 2] { break }
        }
        try await store.close()
        #expect(fixture.logNames.isEmpty)
        #expect(try fixture.stored() == ["k": 2])
    }

    @Test(
        "A commit lists the logs again only if they may have changed, or a log of this process was closed",
        arguments: [JournalMode.edits, .full()])
    func listings(mode: JournalMode) throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let dead = fixture.folder.path("dead")
        try #require(rename(try fixture.log().path, dead) == 0)
        let recorder = CallRecorder()
        let delay = Lock<TimeInterval>(0)
        var calls = recorder.calls
        let start = Date()
        calls.now = { start.addingTimeInterval(delay.withLock { $0 }) }
        let backend = PropertyListFile(
            at: fixture.file, configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), mode) }, calls: calls)
        let logs = EditLogFolder(list: fixture.list, calls: .live)
        let living = try logs.makeLog(halfSize: 4_096)
        var closed: EditLogFile? = try logs.makeLog(halfSize: 4_096)
        closed?.publish()
        #expect(closed?.add(EditLogFixture.chain("c", from: nil, [1])[0]) == true)
        var number = 0
        func listings() throws -> Int {
            let before = recorder.names.count
            number += 1
            try backend.set(["n": .integer(PropertyListInteger(Int64(number)))])
            return recorder.names[before...].count { $0 == "list" }
        }
        // The first edit looks for temporary files as well.
        _ = try listings()
        // A log that is made now may leave the times of the folder unchanged.
        #expect(try [listings(), listings()] == [1, 1])
        delay.withLock { $0 = 300 }
        // Other tests close logs as well.
        #expect(try (0..<1_000).contains { _ in try listings() == 0 })
        try #require(rename(dead, fixture.logs + "/1-dead") == 0)
        #expect(try listings() > 0)
        #expect(try backend.load()["k"] == 2)
        delay.withLock { $0 = 600 }
        #expect(try (0..<1_000).contains { _ in try listings() == 0 })
        closed = nil
        #expect(try listings() > 0)
        #expect(try backend.load()["c"] == 1)
        withExtendedLifetime(living) {}
    }

    @Test("An empty folder, left by a process that was killed while it made or removed its log, is removed by the next edit only")
    func emptyFolder() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog([])
        try FileManager.default.removeItem(atPath: fixture.log().path)
        let backend = PropertyListFile(at: fixture.file)
        #expect(try backend.load()["k"] == 1)
        #expect(FileManager.default.fileExists(atPath: fixture.logs))
        try backend.set(["k": 2])
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
        // It is not empty while a log is being made.
        let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: 4_096)
        try backend.set(["k": 3])
        #expect(fixture.logNames.count == 1)
        log.remove()
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("A listing of the logs that was made before a fork does not count in the child")
    func listingBeforeFork() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let logs = try #require(try FileSystemCalls.live.status(at: fixture.list.editLogs)?.identity)
        let closed = EditLogFile.living.withLock { $0.closed }
        var folder = EditLogFolder(list: fixture.list, listing: (logs, closed, FileLock.forks - 1), calls: .live)
        let dead = try folder.deadLogs()
        #expect(dead.count == 1)
        folder.release(dead)
    }

    #if os(Linux)
        @Test("The logs of a dead process count although its forked child lives, however many there are")
        func forked() throws {
            let fixture = try EditLogFixture(["k": 1])
            var calls = FileSystemCalls.live
            // A dying process does not unlock: its descriptors are closed.
            calls.unlock = { _ throws(SystemError) in }
            let folder = EditLogFolder(list: fixture.list, calls: calls)
            var logs = try (0..<300).map { _ in try folder.makeLog(halfSize: 4_096) }
            #expect(fixture.logNames.count == logs.count)
            let child = try ForkedChild()
            logs = []
            // Another test may just be forking a child, which closes them soon.
            while !fixture.logNames.isEmpty {
                #expect(try fixture.backend().load().values == ["k": 1])
                try #require(!Task.isCancelled)
            }
            withExtendedLifetime(child) {}
        }
    #endif

    @Test(
        "A failure while the edits are made leaves the log, the entries have them, and the next reading makes them",
        arguments: ["rename", "synchronize", "write"])
    func failure(call: String) throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let isFailing = Lock(true)
        let recorder = CallRecorder { _, name in name == call && isFailing.withLock { $0 } ? EIO : nil }
        let backend = PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .edits }, calls: recorder.calls)
        for _ in 0..<2 { #expect(try backend.load().values == ["k": 2]) }
        #expect(failures(backend).count == 1)
        #expect(recorder.openDescriptors.isEmpty)
        #expect(fixture.logNames.count == 1)
        #expect(try fixture.stored() == ["k": 1])
        isFailing.withLock { $0 = false }
        #expect(try backend.load().values == ["k": 2])
        #expect(try fixture.stored() == ["k": 2])
        #expect(fixture.logNames.isEmpty)
    }

    @Test(
        "A store that is opened while the disk is full has the edits of a dead one, tells why they are not stored, and stores them later",
        arguments: [JournalMode.edits, .full()])
    func fullDisk(mode: JournalMode) async throws {
        let fixture = try EditLogFixture(["k": 1])
        try PropertyListFile(at: fixture.file, journal: mode).set(["other": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let isFull = Lock(true)
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(ENOSPC) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        let store = try ObservableStore(
            backend: PropertyListFile(at: fixture.file, configuration: .with { $0.journal = mode }, calls: calls))
        #expect(store[key] == 2)
        for await failure in store.failures {
            #expect("\(failure)".contains(SystemError(ENOSPC).reason))
            break
        }
        isFull.withLock { $0 = false }
        for await _ in FileWatcher.events(at: fixture.file.path) {
            if try fixture.stored()["k"] == 2 { break }
        }
        try await store.close()
        #expect(fixture.logNames.isEmpty)
        #expect(try fixture.stored() == ["k": 2, "other": 1])
    }

    @Test("Who may not remove logs reads the list without them: its edits would not be over theirs")
    func unremovable() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        var calls = FileSystemCalls.live
        calls.checkWriting = { _ throws(SystemError) in throw SystemError(EACCES) }
        let backend = fixture.backend(calls: calls)
        #expect(try backend.load().values == ["k": 1])
        #expect(failures(backend).isEmpty, "\(failures(backend))")
        #expect(fixture.logNames.count == 1)
    }

    @Test("On a read-only file system, the edits of a dead store are in memory until they can be made")
    func readOnlyFileSystem() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        let isReadOnly = Lock(true)
        var calls = FileSystemCalls.live
        calls.checkWriting = { path throws(SystemError) in
            if isReadOnly.withLock({ $0 }) { throw SystemError(EROFS) }
            try FileSystemCalls.live.checkWriting(path)
        }
        let backend = fixture.backend(calls: calls)
        for _ in 0..<2 { #expect(try backend.load().values == ["k": 2]) }
        #expect(backend.needsReplay)
        #expect(failures(backend).isEmpty, "\(failures(backend))")
        #expect(fixture.logNames.count == 1)
        #expect(try fixture.stored() == ["k": 1])
        isReadOnly.withLock { $0 = false }
        #expect(try backend.load().values == ["k": 2])
        #expect(!backend.needsReplay)
        #expect(fixture.logNames.isEmpty)
        #expect(try fixture.stored() == ["k": 2])
    }

    @Test(
        "In a list that others may write, edits of a dead store count unless somebody has written it since: not even if it has the value again",
        arguments: [JournalMode.edits, .full()], [false, true])
    func sharedList(mode: JournalMode, isWritten: Bool) throws {
        let fixture = try EditLogFixture(["k": 1])
        try #require(chmod(fixture.file.path, 0o664) == 0)
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        for value: PropertyListValue in isWritten ? [7, 1] : [] {
            try PropertyListValue.dictionary(["k": value]).encoded(as: .binary).write(to: fixture.file, options: .atomic)
            try #require(chmod(fixture.file.path, 0o664) == 0)
        }
        let backend = impatient(fixture, mode)
        #expect(try backend.load().values == ["k": isWritten ? 1 : 2])
        #expect(failures(backend) == (isWritten ? [.conflict(file: fixture.file.path, keys: ["k"])] : []))
        #expect(fixture.logNames.isEmpty)
    }

    @Test("A failure to look for logs is told with their folder and the system's reason, and the list is read")
    func unlisted() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        var calls = FileSystemCalls.live
        calls.list = { _ throws(SystemError) in throw SystemError(EIO) }
        let backend = fixture.backend(calls: calls)
        #expect(try backend.load().values == ["k": 1])
        let reason = "\(SystemError(EIO).reason) (looking for logs of edits in \(fixture.logs))"
        #expect(failures(backend) == [.unreadable(file: fixture.file.path, reason: reason)])
    }

    @Test("A folder of logs that is something else does not keep anybody from writing", arguments: ["file", "loop", "dangling", "FIFO"])
    func occupied(kind: String) throws {
        let fixture = try EditLogFixture(["k": 1])
        switch kind {
        case "file": try Data("x".utf8).write(to: URL(fileURLWithPath: fixture.logs))
        case "loop": try FileManager.default.createSymbolicLink(atPath: fixture.logs, withDestinationPath: fixture.logs)
        case "dangling": try FileManager.default.createSymbolicLink(atPath: fixture.logs, withDestinationPath: "/none/at/all")
        default: #expect(mkfifo(fixture.logs, 0o600) == 0)
        }
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 1])
        #expect(try backend.edit { $0["k"] = 2 }.values == ["k": 2])
        #expect(failures(backend).isEmpty)
    }

    @Test("Converting a list checks the edits of dead stores as well, and drops none that the new format cannot represent")
    func conversion() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("bad", from: nil, ["\u{1}"]))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(throws: StorageError.self) { try backend.convert(to: .xml) { _ in } }
        #expect(try fixture.stored() == ["k": 1, "bad": "\u{1}"])
        #expect(fixture.logNames.isEmpty)
        #expect(failures(backend).isEmpty)
    }

    @Test("A log of another version is left alone, and told once")
    func otherVersion() throws {
        let fixture = try EditLogFixture(["k": 1])
        try FileManager.default.createDirectory(atPath: fixture.logs, withIntermediateDirectories: true)
        try (Data("plEDIT02".utf8) + Data(count: 8_192)).write(to: URL(fileURLWithPath: fixture.logs + "/1-a"))
        let backend = PropertyListFile(at: fixture.file, journal: .edits)
        #expect(try backend.load().values == ["k": 1])
        #expect(try backend.edit { $0["k"] = 2 }.values == ["k": 2])
        let report = "\(fixture.logs)/1-a: cannot be read: it is a log of edits of another version"
        #expect(failures(backend).map { "\($0)".hasPrefix(report) } == [true])
        #expect(fixture.logNames == ["1-a"])
    }

    @Test(
        "Of a log and the larger one that has replaced it, only the larger one counts, also if a value has returned",
        arguments: [false, true])
    func replacedLog(isVoid: Bool) throws {
        let fixture = try EditLogFixture(["k": false])
        let chain = EditLogFixture.chain("k", from: false, [true, false, true, false, true])
        do {
            let folder = EditLogFolder(list: fixture.list, calls: .live)
            // Made in this order, so that the older one is replayed last if their times decide.
            let larger = try folder.makeLog(halfSize: 65_536)
            let old = try folder.makeLog(halfSize: 4_096)
            old.publish()
            for edit in chain.prefix(4) { #expect(old.add(edit)) }
            for edit in chain { #expect(larger.add(edit)) }
            if isVoid {
                larger.publish(insteadOf: old)
                // The store has ended, and was killed before it had removed the old one.
                larger.remove()
                withExtendedLifetime(old) {}
            } else {
                larger.markReplacing(old)
                larger.publish()
                withExtendedLifetime((old, larger)) {}
            }
        }
        let backend = fixture.backend()
        #expect(try backend.load().values == ["k": .boolean(!isVoid)])
        #expect(backend.list.reports.kept.withLock { $0 }.isEmpty)
        #expect(fixture.logNames.isEmpty)
    }
}
