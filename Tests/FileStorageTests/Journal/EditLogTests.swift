import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Logs of living stores", .timeLimit(.minutes(10)))
struct EditLogTests {
    private let key = StorageKey("k", default: 0)

    @Test("Edits made together have room in a larger file, in which each is a record")
    func growthByRecords() throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        log.append("first", over: nil, 1, sequence: 1)
        try fixture.makeFiles(for: &log)
        for (sequence, prefix) in [(UInt64(2), "a"), (3, "b")] {
            log.append((1_000..<3_900).map { LoggedEdit(key: "\(prefix)\($0)", over: 1, value: nil, sequence: sequence) })
            #expect(!log.isBehind)
        }
        for number in 0..<100 where !log.isBehind { log.append("last\(number)", over: nil, 1, sequence: 4) }
        #expect(log.isBehind)
        try fixture.makeFiles(for: &log)
        #expect(log.isComplete)
        log.takeFile()?.remove()
    }

    @Test("A log that a burst has made large is removed after a second without a commit, and the next edit makes a small one")
    func removal() async throws {
        let fixture = try EditLogFixture()
        let store = try ObservableStore(at: fixture.file)
        store[StorageKey("data", default: Data())] = Data(count: 1 << 20)
        try await store.flush()
        await store.synchronizer.removeLogIfDue(at: .now + .seconds(1))
        #expect(fixture.logNames.isEmpty)
        store[key] = 1
        #expect(store.durability == .immediate)
        #expect(try fixture.logSizes == [EditLogFormat.Header.size + 2 * EditLogFormat.smallestHalf])
        try await store.close()
    }

    @Test("The reason why a larger file could not be made is told until all edits are stored, and not when the next one is needed")
    func clearedReason() throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        log.append("k", over: nil, 1, sequence: 1)
        try fixture.makeFiles(for: &log)
        log.append("k", over: 1, .data(Data(count: 1 << 20)), sequence: 2)
        let error = StorageError.unwritable(file: fixture.file.path, reason: "No space left on device")
        log.refuse(EditLogRefusal(error: error))
        #expect(log.objection == error)
        log.markCommitted(upTo: 2, in: fixture.list, nil, removed: nil)
        #expect(log.objection == error)
        log.allowAgain()
        #expect(log.objection == nil)
        // Another process removes the file.
        log.markCommitted(upTo: 2, in: fixture.list, nil, removed: log.file)
        #expect(log.isBehind && log.objection == nil)
        log.takeFile()?.remove()
    }

    @Test("Setting one value again and again does not fill the log, however long it cannot be written")
    func endlessEdits() throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        var old: PropertyListValue?
        for number in 1...(isLong || isOptimized ? 100 : 25) {
            let value = PropertyListValue.data(Data(repeating: UInt8(number), count: 1 << 20))
            log.append("k", over: old, value, sequence: UInt64(number))
            old = value
            if let halfSize = log.neededHalfSize() { #expect(halfSize <= 8 << 20) }
            try fixture.makeFiles(for: &log)
        }
        #expect(log.isComplete)
        log.takeFile()?.remove()
    }

    @Test("Edits that are stored while another file is made are not in it")
    func storedMeanwhile() throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        let number = try fixture.fill(&log)
        let needed = log.neededHalfSize()
        let halfSize = try #require(needed)
        log.markCommitted(upTo: 1, in: fixture.list, nil, removed: nil)
        log.install(try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: halfSize))?.remove()
        // Those between have become one.
        #expect(log.file?.edits.map(\.sequence) == [number - 1, number])
        log.takeFile()?.remove()
    }

    @Test("A log in which another program has changed a record is not copied without it", arguments: [false, true])
    func changed(isLast: Bool) throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        let number = try fixture.fill(&log)
        let (path, bytes) = try fixture.log()
        let record = try #require(bytes.range(of: Data(repeating: UInt8(isLast ? number - 1 : 2), count: 100)))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(record.lowerBound))
        try file.write(contentsOf: Data([0]))
        try file.close()
        try fixture.makeFiles(for: &log)
        let reason = "its log of edits was changed by another program"
        #expect(log.objection == .unwritable(file: fixture.list.path, reason: reason))
        log.takeFile()?.remove()
    }

    @Test("A value that fits into the largest log is logged, and for a larger one the reason names its size")
    func largeValue() async throws {
        let fixture = try EditLogFixture()
        let large = StorageKey("large", default: Data())
        let store = try ObservableStore(backend: fixture.backendWithoutRenaming)
        try store.set(Data(count: 31 << 20), for: large)
        #expect(store.durability == .immediate)
        #expect(try fixture.logSizes == [EditLogFormat.largestFile])
        #expect(EditLogFormat.largestFile - EditLogFormat.Header.size == 64 << 20)
        try store.set(Data(count: 33 << 20), for: large)
        let reason = "the edits that are not written yet need more than 32 MB in its log of edits"
        #expect(store.durability == .flushed(reason: .unwritable(file: fixture.file.path, reason: reason)))
        try await store.close(discardingEdits: true)
    }

    @Test("A file that is larger than the largest log is not read as one")
    func tooLargeFile() async throws {
        let fixture = try EditLogFixture()
        let halfSize = EditLogFormat.largestHalf + EditLogFormat.Header.size
        try fixture.leaveLog(EditLogFixture.chain("k", from: nil, [1]), halfSize: halfSize)
        let store = try ObservableStore(backend: fixture.backend())
        #expect(store[key] == 0)
        #expect(fixture.logNames.isEmpty)
        try await store.close()
    }

    @Test("A log gets no larger than four times the last values of the edits that are not written, however many edits there were")
    func sizeOfLog() throws {
        let fixture = try EditLogFixture()
        var log = EditLog(isOn: true)
        var sizes: [Int] = []
        var old: [String: PropertyListValue] = [:]
        // The values of 8 keys, 3 MB together, again and again; one of them twice, while it waits.
        for number in 1...200 {
            let (key, value) = ("k\(number % 8)", PropertyListValue.data(Data(repeating: UInt8(number), count: 3 << 17)))
            log.append(key, over: old[key], value, sequence: UInt64(number))
            old[key] = value
            try fixture.makeFiles(for: &log)
            sizes += try fixture.logSizes
        }
        #expect(try #require(sizes.max()) <= 14 << 20)
        log.takeFile()?.remove()
    }

    @Test("Compaction keeps the order of edits of an entry and of values inside it")
    func compaction() {
        let stored: PropertyListValue = ["a": 1]
        let edits = [
            LoggedEdit(key: "d", path: ["a"], over: PropertyListValue?.some(1).fingerprint, value: 2, sequence: 1),
            LoggedEdit(key: "d", over: PropertyListValue?.some(["a": 2]).fingerprint, value: ["a": 2, "b": 5], sequence: 2),
            LoggedEdit(key: "d", path: ["a"], over: PropertyListValue?.some(2).fingerprint, value: 3, sequence: 3),
        ]
        for edits in [edits, edits.compacted(keeping: [])] {
            let replay = EditReplay(edits) { _ in stored }
            #expect(replay.changes == ["d": ["a": 3, "b": 5]])
            #expect(replay.conflicts.isEmpty)
        }
    }

    @Test("A log that somebody else has removed is made again after the next commit")
    func removedLog() async throws {
        let fixture = try EditLogFixture()
        let fails = Lock(false)
        let recorder = CallRecorder { _, name in name == "rename" && fails.withLock { $0 } ? EIO : nil }
        let store = try ObservableStore(backend: fixture.backend(calls: recorder.calls))
        try store.set(1, for: key)
        try await store.flush()
        try FileManager.default.removeItem(atPath: fixture.logs)
        try store.set(2, for: key)
        try await store.flush()
        fails.withLock { $0 = true }
        try store.set(3, for: key)
        #expect(fixture.logNames.count == 1)
        try await store.close(discardingEdits: true)
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("Edits in a log that was removed are reported as lost by the last write that fails")
    func removedLogAtEnd() async throws {
        let fixture = try EditLogFixture()
        var store: ObservableStore? = try ObservableStore(backend: fixture.backendWithoutRenaming)
        let failures = try #require(store?.failures)
        try store?.set(7, for: key)
        try FileManager.default.removeItem(atPath: fixture.logs)
        store = nil
        var outcomes: [StorageError.EditOutcome?] = []
        for await failure in failures {
            if case .unwritable(_, _, let edits) = failure { outcomes.append(edits) }
        }
        #expect(outcomes.last == .lost(keys: ["k"]))
    }

    @Test("A store with an edit that is nested too deep for the log says that edits are not logged until it is written")
    func nestedTooDeep() async throws {
        let fixture = try EditLogFixture()
        let fails = Lock(true)
        let recorder = CallRecorder { _, name in name == "rename" && fails.withLock { $0 } ? EIO : nil }
        let store = try ObservableStore(backend: fixture.backend(calls: recorder.calls))
        try store.set(1, for: key)
        var deep: PropertyListValue = 1
        for _ in 0..<200 { deep = [deep] }
        try store.set(deep, for: StorageKey("deep", default: PropertyListValue.integer(0)))
        #expect(store.durability != .immediate)
        fails.withLock { $0 = false }
        try await store.flush()
        #expect(store.durability == .immediate)
        try await store.close()
    }

    @Test("A store on a file system that is not known to be good says so before the first edit")
    func unknownFileSystem() async throws {
        let fixture = try EditLogFixture()
        var calls = FileSystemCalls.live
        calls.mappingObjection = { _ throws(SystemError) in "it is made of cheese" }
        let store = try ObservableStore(backend: fixture.backend(calls: calls))
        #expect(store.durability == .flushed(reason: .unwritable(file: fixture.file.path, reason: "it is made of cheese")))
        try await store.close()
    }
}
