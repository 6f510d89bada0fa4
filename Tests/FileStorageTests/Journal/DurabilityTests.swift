import Foundation
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Durability of edits", .timeLimit(.minutes(10)))
struct DurabilityTests {
    private let key = StorageKey("k", default: 0)

    private func backend(_ fixture: EditLogFixture, journal: JournalMode = .edits, calls: FileSystemCalls = .live) -> PropertyListFile {
        PropertyListFile(at: fixture.file, configuration: .with { $0.journal = journal }, calls: calls)
    }

    /// System calls with which no commit succeeds, so that edits stay pending.
    private var withoutRenaming: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.renameFile = { _, _ throws(SystemError) in throw SystemError(EIO) }
        return calls
    }

    @Test("An edit is in the log when it returns, and the log is removed when the store is closed")
    func lifeOfLog() async throws {
        let fixture = try EditLogFixture()
        let store = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        #expect(store.durability == .immediate)
        #expect(fixture.logNames.isEmpty)
        try store.set(1, for: key)
        try store.set(2, for: key)
        let name = try #require(fixture.logNames.first)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.logs + "/" + name))
        let content = try #require(bytes.withUnsafeBytes { EditLogContent($0) })
        #expect(content.edits.map(\.value) == [1, 2])
        #expect(content.edits.map(\.over) == [0, PropertyListValue?.some(1).fingerprint])
        try await store.close(discardingEdits: true)
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("The folder of logs is for this user only, whatever the umask")
    func umask() async throws {
        let fixture = try EditLogFixture()
        var calls = withoutRenaming
        calls.makeFolder = { path, permissions throws(SystemError) in
            try FileSystemCalls.live.makeFolder(path, permissions & ~0o177)
        }
        let store = try ObservableStore(backend: backend(fixture, calls: calls))
        try store.set(1, for: key)
        #expect(try FileManager.default.attributesOfItem(atPath: fixture.logs)[.posixPermissions] as? Int == 0o700)
        #expect(fixture.logNames.count == 1)
        try await store.close(discardingEdits: true)
    }

    @Test("Durability tells that another user's list has no log, before an edit as well as after one", arguments: [false, true])
    func otherUsersList(hasEdited: Bool) async throws {
        let fixture = try EditLogFixture(["k": 1])
        let isGiven = Atomic(false)
        var calls = withoutRenaming
        calls.statusOfPath = { [name = fixture.list.name] path, followsLinks throws(SystemError) in
            var status = try FileSystemCalls.live.statusOfPath(path, followsLinks)
            if path.name == name, isGiven.load(ordering: .relaxed) { status.owner = 12_345 }
            return status
        }
        let store = try ObservableStore(backend: backend(fixture, calls: calls))
        if hasEdited { try store.set(2, for: key) }
        #expect(store.durability == .immediate)
        isGiven.store(true, ordering: .relaxed)
        guard case .flushed(let reason?) = store.durability else { throw CocoaError(.fileReadUnknown) }
        #expect("\(reason)".contains("it belongs to user 12345"))
        try await store.close(discardingEdits: true)
    }

    @Test(
        "Durability tells before the first edit that no log can be made", arguments: ["writable by others", "not writable", "not a folder"])
    func unusableFolder(_ kind: String) async throws {
        let fixture = try EditLogFixture(["k": 1])
        var calls = FileSystemCalls.live
        if kind == "not writable" {
            calls.checkWriting = { path throws(SystemError) in if path.name == "." { throw SystemError(EROFS) } }
        } else if kind == "not a folder" {
            try Data().write(to: URL(fileURLWithPath: fixture.logs))
        } else {
            try FileManager.default.createDirectory(atPath: fixture.logs, withIntermediateDirectories: false)
            try #require(chmod(fixture.logs, 0o777) == 0)
        }
        let store = try ObservableStore(backend: backend(fixture, calls: calls))
        guard case .flushed(_?) = store.durability else { throw CocoaError(.fileReadUnknown) }
        #expect(fixture.logNames.isEmpty)
        try await store.close(discardingEdits: true)
    }

    @Test("A commit releases its edits, and closing leaves only the list and its lock file")
    func commit() async throws {
        let fixture = try EditLogFixture()
        let store = try ObservableStore(at: fixture.file, journal: .edits)
        for number in 1...100 { try store.set(number, for: key) }
        try await store.flush()
        let name = try #require(fixture.logNames.first)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.logs + "/" + name))
        #expect(bytes.withUnsafeBytes { EditLogContent($0)?.edits.isEmpty } == true)
        try await store.close()
        #expect(try fixture.stored() == ["k": 100])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).sorted() == [
                ".settings.plist.lock", "settings.plist",
            ])
    }

    @Test("Edits that the last write of a store could not store are kept for the next opening, and the error says so")
    func failedEnd() async throws {
        let fixture = try EditLogFixture(["k": 1])
        var store: ObservableStore? = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        let failures = try #require(store?.failures)
        try store?.set(7, for: key)
        store = nil
        var outcomes: [StorageError.EditOutcome?] = []
        for await failure in failures {
            if case .unwritable(_, _, let edits) = failure { outcomes.append(edits) }
        }
        #expect(outcomes.last == .logged)
        #expect(try backend(fixture).load().values == ["k": 7])
        #expect(fixture.logNames.isEmpty)
    }

    @Test("A log that is full is replaced by a larger one that contains every pending edit")
    func growth() async throws {
        let fixture = try EditLogFixture()
        let store = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        for number in 1...20 {
            try store.set(Data(repeating: UInt8(number), count: 10_000 * number), for: StorageKey("d\(number % 7)", default: Data()))
        }
        // Another one may be being made at this moment.
        let edits = try #require(store.cache.update { $0.log.file }).edits
        let replay = EditReplay(edits) { _ in nil }
        #expect(replay.conflicts.isEmpty)
        #expect(replay.changes.mapValues { $0 } == store.entries.mapValues { .some($0) })
        try await store.close(discardingEdits: true)
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("Edits of dictionaries' values and several entries at once are logged")
    func nested() async throws {
        let fixture = try EditLogFixture(["d": ["a": 1, "b": 2], "old": 5])
        let store = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        try store.set(3, for: StorageKey("d", "a", default: 0))
        try store.set(6, for: StorageKey("new", default: 0).renamed(from: "old"))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.logs + "/" + #require(fixture.logNames.first)))
        let stored = try fixture.stored()
        let edits = try #require(bytes.withUnsafeBytes { EditLogContent($0)?.edits })
        let replay = EditReplay(edits) { stored[$0] }
        #expect(replay.changes == ["d": ["a": 3, "b": 2], "new": 6, "old": nil])
        #expect(edits.first?.path == ["a"])
        try await store.close(discardingEdits: true)
    }

    @Test("Edits of a dictionary inside an entry, and of values in it, are logged so that they can be replayed")
    func overlappingPaths() async throws {
        let names = (0..<20).map { "d\($0)" }
        let fixture = try EditLogFixture(Dictionary(uniqueKeysWithValues: names.map { ($0, ["a": ["b": 1]]) }))
        let store = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        for name in names {
            try store.set(2, for: StorageKey(name, "a", "b", default: 0))
            try store.set(["b": 5, "c": 1], for: StorageKey(name, "a", default: [String: Int]()))
            try store.set(6, for: StorageKey(name, "a", "b", default: 0))
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.logs + "/" + #require(fixture.logNames.first)))
        let stored = try fixture.stored()
        let edits = try #require(bytes.withUnsafeBytes { EditLogContent($0)?.edits })
        let replay = EditReplay(edits) { stored[$0] }
        #expect(replay.conflicts.isEmpty)
        #expect(replay.changes.values.allSatisfy { $0 == ["a": ["b": 6, "c": 1]] })
        try await store.close(discardingEdits: true)
    }

    @Test("Without a log, as it was asked for, the store says so and makes no folder")
    func off() async throws {
        let fixture = try EditLogFixture()
        let store = try ObservableStore(backend: backend(fixture, journal: .off, calls: withoutRenaming))
        try store.set(1, for: key)
        #expect(store.durability == .flushed(reason: nil))
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
        try await store.close(discardingEdits: true)
        let memory = try ObservableStore(backend: InMemoryBackend())
        #expect(memory.durability == .flushed(reason: nil))
    }

    @Test(
        "If the log cannot be made, the store works without, and says why until one could, which is tried when nothing is pending",
        arguments: ["makeFolder", "reserve", "map", "mappingObjection"])
    func faults(call: String) async throws {
        let fixture = try EditLogFixture()
        let fails = Lock(true)
        let recorder = CallRecorder { _, name in call == name && fails.withLock { $0 } ? ENOSPC : nil }
        let store = try ObservableStore(backend: backend(fixture, calls: recorder.calls))
        for value in 1...2 {
            try store.set(value, for: key)
            for _ in 0..<2 {
                guard case .flushed(reason: .unwritable?) = store.durability else {
                    Issue.record("\(store.durability)")
                    return
                }
                try await store.flush()
            }
            #expect(fixture.logNames.isEmpty)
        }
        fails.withLock { $0 = false }
        try store.set(3, for: key)
        #expect(store.durability == .immediate)
        #expect(fixture.logNames.count == 1)
        try await store.close()
        #expect(try fixture.stored() == ["k": 3])
    }

    @Test("A store without a log for an edit that none takes, or while it was suspended, has one for the next edit, and says so")
    func refusedOnce() async throws {
        var deep: PropertyListValue = 1
        for _ in 0..<200 { deep = [deep] }
        for value in [deep, .data(Data(count: 33 << 20)), 1] {
            let fixture = try EditLogFixture()
            let store = try ObservableStore(backend: backend(fixture))
            if value == 1 { await store.suspend() }
            try store.set(value, for: StorageKey("k", default: PropertyListValue.integer(0)))
            #expect(store.durability != .immediate || value != 1)
            store.resume()
            try await store.flush()
            #expect(store.durability == .immediate)
            #expect(fixture.logNames.isEmpty)
            try await store.close()
        }
    }

    @Test("Two stores of one process on one file have a log each")
    func twoStores() async throws {
        let fixture = try EditLogFixture(["k": 0])
        let stores = try (0..<2).map { _ in try ObservableStore(backend: backend(fixture, calls: withoutRenaming)) }
        for (index, store) in stores.enumerated() { try store.set(1, for: StorageKey("k\(index)", default: 0)) }
        #expect(fixture.logNames.count == 2)
        for store in stores { try await store.close(discardingEdits: true) }
        #expect(fixture.logNames.isEmpty)
    }

    @Test("Logs are accessible to their owner only: whoever could read one could lock it, as if its owner lived")
    func permissions() async throws {
        let fixture = try EditLogFixture(["k": 0])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: fixture.file.path)
        let store = try ObservableStore(backend: backend(fixture, calls: withoutRenaming))
        try store.set(1, for: key)
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions(fixture.logs) == 0o700)
        #expect(try permissions(fixture.logs + "/" + #require(fixture.logNames.first)) == 0o600)
        try await store.close(discardingEdits: true)
    }

    @Test("In a folder of logs that is another user's, or that others may write, a store has no log, says so, and leaves it as it is")
    func unsafeFolder() async throws {
        for (permissions, owner) in [(0o770, geteuid()), (0o707, geteuid()), (0o755, 12_345)] as [(mode_t, uid_t)] {
            guard owner == geteuid() || geteuid() == 0 else { continue }
            let fixture = try EditLogFixture(["k": 0])
            try FileManager.default.createDirectory(atPath: fixture.logs, withIntermediateDirectories: false)
            try #require(chmod(fixture.logs, permissions) == 0 && chown(fixture.logs, owner, getegid()) == 0)
            let store = try ObservableStore(backend: backend(fixture))
            try store.set(1, for: key)
            guard case .flushed(reason: .unwritable(fixture.file.path, let reason, _)?) = store.durability else {
                Issue.record("\(store.durability)")
                continue
            }
            #expect(reason.contains(fixture.logs))
            try await store.close()
            #expect(try fixture.stored() == ["k": 1])
            let status = try #require(try FileSystemCalls.live.status(at: fixture.logs))
            #expect((status.permissions, status.owner) == (permissions, owner))
        }
    }

    @Test("The superuser has no log of its edits of another user's list, and says so", .enabled(if: geteuid() == 0))
    func otherOwner() async throws {
        let fixture = try EditLogFixture(["k": 0])
        try #require(chown(fixture.file.path, 12_345, 12_345) == 0)
        let store = try ObservableStore(backend: backend(fixture))
        try store.set(1, for: key)
        guard case .flushed(reason: .unwritable(fixture.file.path, let reason, _)?) = store.durability else {
            Issue.record("\(store.durability)")
            return
        }
        #expect(reason.contains("belongs to user 12345"))
        try await store.close()
        #expect(try fixture.stored() == ["k": 1])
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("A store of an app group's file has no log, and says so")
    func appGroup() throws {
        let fixture = try EditLogFixture()
        var calls = FileSystemCalls.live
        calls.rules = SystemRules(.iOS, home: "/none", isSandboxed: true)
        let file = PropertyListFile(at: fixture.file, configuration: .with { $0.lockTimeout = .seconds(1) }, calls: calls)
        guard case .unwritable = file.logObjection else {
            Issue.record("no objection")
            return
        }
    }

    @Test("On a file system that is not known to be good, the store has no log for good")
    func unknownFileSystem() async throws {
        let fixture = try EditLogFixture()
        var calls = FileSystemCalls.live
        let looks = Lock(0)
        calls.mappingObjection = { _ throws(SystemError) in
            looks.withLock { $0 += 1 }
            return "it is made of cheese"
        }
        let store = try ObservableStore(backend: backend(fixture, calls: calls))
        for value in 1...3 {
            try store.set(value, for: key)
            try await store.flush()
            #expect(store.durability == .flushed(reason: .unwritable(file: fixture.file.path, reason: "it is made of cheese")))
        }
        #expect(looks.withLock { $0 } == 1)
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
        try await store.close()
    }

    @Test("Edits that are in a log count as such, also while the process has no descriptors left", arguments: [EMFILE, ENFILE])
    func noDescriptors(code: Int32) async throws {
        let fixture = try EditLogFixture(["k": 1])
        let isShort = Lock(false)
        var calls = EditLogFixture.callsWithoutRenaming
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            // The first descriptors that examining the location needs are the last ones.
            if isShort.withLock({ $0 }), path.path.contains(".edits") { throw SystemError(code) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let store = try ObservableStore(backend: fixture.backend(calls: calls))
        store[StorageKey("k", default: 0)] = 2
        isShort.exchange(true)
        #expect(store.durability == .immediate)
        isShort.exchange(false)
        try await store.close(discardingEdits: true)
    }
}
