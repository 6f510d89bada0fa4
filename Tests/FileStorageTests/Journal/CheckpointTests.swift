import Dispatch
import Foundation
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Checkpoints", .timeLimit(.minutes(10)))
struct CheckpointTests {
    private let fixture: JournalFixture

    init() throws {
        fixture = try JournalFixture(["a": 1])
    }

    private let key = StorageKey("a", default: 0)
    // So long that no test waits for it.
    private let never = JournalMode.full(quiet: .seconds(3600), atMost: .seconds(3600))

    // MARK: When

    private func at(_ nanoseconds: Int64) -> Debouncer.Instant { Self.start + .nanoseconds(nanoseconds) }
    private static let start = Debouncer.Instant.now

    @Test("A checkpoint is due after a quiet time, which later edits begin anew, and at the latest some time after the first")
    func schedule() {
        var schedule = Debouncer(quiet: .nanoseconds(50), limit: .nanoseconds(120))
        #expect(schedule.modified(at: at(1_000)) == .wake(at: at(1_050)))
        #expect(schedule.modified(at: at(1_040)) == .none)
        #expect(schedule.woke(at: at(1_050)) == .wake(at: at(1_090)))
        #expect(schedule.modified(at: at(1_080)) == .none)
        #expect(schedule.woke(at: at(1_090)) == .wake(at: at(1_120)))
        #expect(schedule.modified(at: at(1_110)) == .none)
        #expect(schedule.woke(at: at(1_120)) == .process)
        #expect(schedule.woke(at: at(1_130)) == .none)
        #expect(schedule.modified(at: at(2_000)) == .wake(at: at(2_050)))
        #expect(schedule.woke(at: at(2_050)) == .process)
    }

    @Test("Edits of others wait longer, until there is one of this store")
    func others() {
        var schedule = Debouncer(quiet: .nanoseconds(50), limit: .nanoseconds(120))
        #expect(schedule.modified(at: at(0), factor: 10) == .wake(at: at(500)))
        #expect(schedule.modified(at: at(100)) == .wake(at: at(120)))
        #expect(schedule.woke(at: at(120)) == .process)
        #expect(schedule.woke(at: at(500)) == .none)
    }

    @Test("A time without an end is never due")
    func endless() {
        var schedule = SynchronizationSchedule(.full(quiet: .seconds(Int64.max), atMost: .seconds(Int64.max)))
        guard case .wake(let time) = schedule.checkpoints.modified(at: at(5), factor: 10) else {
            Issue.record("nothing is due")
            return
        }
        #expect(time > at(1 << 61))
        #expect(schedule.checkpoints.woke(at: at(1 << 60)) == .wake(at: time))
        // The duration until then fits.
        #expect(DispatchTime.after(at(5).duration(to: time)) > .now())
    }

    // MARK: Stores

    @Test("An edit is in the journal soon, and in the list after a quiet time, without a call")
    func behind() async throws {
        let store = try ObservableStore(backend: fixture.backend(.full(quiet: .milliseconds(1), atMost: .milliseconds(5))))
        let events = FileWatcher.events(at: fixture.file.path)
        store[key] = 7
        for await _ in events {
            if try fixture.stored() == ["a": 7] { break }
        }
        try await store.close()
    }

    @Test("Flushing to the journal leaves the list as it is, flushing writes it")
    func flush() async throws {
        let store = try ObservableStore(backend: fixture.backend(never))
        store[key] = 2
        try await store.flush(to: .journal)
        #expect(try fixture.stored() == ["a": 1])
        #expect(try fixture.backend().load().values == ["a": 2])
        try await store.flush()
        #expect(try fixture.stored() == ["a": 2])
        try await store.close()
    }

    @Test("The list and the journal of an open store are read and synchronized on its queue only, whatever causes that")
    func queue() async throws {
        let isOpen = Atomic(false)
        let (onQueue, elsewhere) = (Recorder<String>(), Recorder<String>())
        @Sendable func record(_ call: String) {
            if isOpen.load(ordering: .relaxed) { (DispatchQueueExecutor.isAnyCurrent ? onQueue : elsewhere).record(call) }
        }
        var calls = FileSystemCalls.live
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            record("read")
            return try FileSystemCalls.live.readBytes(descriptor, buffer)
        }
        for path in [\FileSystemCalls.synchronize, \.synchronizeData] {
            let synchronize = calls[keyPath: path]
            calls[keyPath: path] = { descriptor throws(SystemError) in
                record("synchronize")
                try synchronize(descriptor)
            }
        }
        let store = try ObservableStore(backend: fixture.backend(never, calls: calls))
        let values = store.values(of: key)
        isOpen.store(true, ordering: .relaxed)
        store[key] = 2
        try await store.flush(to: .journal)
        let revision = try #require(store.storageRevision)
        try await store.update { $0[key] = 3 }
        _ = try await store.changes(since: revision)
        try await store.flush()
        try fixture.write(["a": 4])
        for await value in values where value == 4 { break }
        store[key] = 5
        try await store.close()
        #expect(elsewhere.elements == [])
        #expect(Set(onQueue.elements) == ["read", "synchronize"])
    }

    @Test("A transaction is in the journal when it returns, and its revision is that of the storage")
    func update() async throws {
        let store = try ObservableStore(backend: fixture.backend(never))
        try await store.update { $0[key] += 1 }
        #expect(try fixture.stored() == ["a": 1])
        #expect(try fixture.backend().load().values == ["a": 2])
        #expect(store.storageRevision?.number == 1)
        try await store.close()
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("A store without a journal of its own uses one that stands there, and writes the list when it is flushed")
    func otherMode() async throws {
        try fixture.backend(never).set(["b": 1])
        let store = try ObservableStore(backend: fixture.backend(.off))
        store[key] = 2
        try await store.flush(to: .journal)
        #expect(try fixture.backend().load().revision?.number == 2)
        try await store.close()
        #expect(try fixture.stored() == ["a": 2, "b": 1])
    }

    @Test("A store that is released writes the list, also if its edits are in the journal already")
    func released() async throws {
        do {
            let store = try ObservableStore(backend: fixture.backend(never))
            store[key] = 2
            try await store.flush(to: .journal)
        }
        let events = FileWatcher.events(at: fixture.file.path)
        for await _ in events {
            if try fixture.stored() == ["a": 2] { break }
        }
    }

    @Test("A process that opens a list whose writer was killed after a commit writes it")
    func afterKill() async throws {
        try fixture.backend(never).set(["a": 5])
        let store = try ObservableStore(backend: fixture.backend(never))
        #expect(store[key] == 5)
        try await store.close()
        #expect(try fixture.stored() == ["a": 5])
    }

    @Test("Another store is told of a commit by the journal alone, with its revision, and of nothing by a checkpoint")
    func told() async throws {
        let one = try ObservableStore(backend: fixture.backend(never))
        let two = try ObservableStore(backend: fixture.backend(never))
        let seen = Recorder<Change<Int>>()
        let token = two.addUpdateListener(for: key) { seen.record($0) }
        one[key] = 2
        try await one.flush(to: .journal)
        let changes = try await seen.elements(count: 1)
        #expect(changes.map(\.newValue) == [2])
        #expect(changes.first?.origin == .external)
        #expect(changes.first?.storageRevision == one.storageRevision)
        #expect(try fixture.stored() == ["a": 1])
        try await one.flush()
        try await one.update { $0[key] = 3 }
        _ = try await seen.elements(count: 2)
        #expect(seen.elements.map(\.newValue) == [2, 3])
        withExtendedLifetime(token) {}
        try await two.close()
        try await one.close()
    }

    /// The system calls of a process that is killed after it has renamed the list.
    private var callsUntilRenaming: FileSystemCalls {
        let isDead = Lock(false)
        let recorder = CallRecorder { _, name in isDead.withLock { $0 } && !["close", "unlock"].contains(name) ? EIO : nil }
        var calls = recorder.calls
        calls.renameFile = { [file = fixture.file] from, to throws(SystemError) in
            try recorder.calls.renameFile(from, to)
            if to.path == file.path { isDead.exchange(true) }
        }
        return calls
    }

    @Test("What a program has left as it was in a list whose writer was killed after it was renamed does not undo a later commit")
    func foreignOverKilledProcess() throws {
        let next = fixture.backend(never)
        try next.set(["a": 2])
        #expect(throws: (any Error).self) { try fixture.backend(never, calls: callsUntilRenaming).checkpoint() }
        #expect(try fixture.stored() == ["a": 2])
        try next.set(["a": 3])
        try fixture.write(["a": 2, "f": 1])
        #expect(try fixture.backend(never).load().values == ["a": 3, "f": 1])
    }

    @Test("A list whose writer was killed after it was renamed is on the medium before the journal says that it is in place")
    func renamedByKilledProcess() throws {
        let steps = Lock<[String]>([])
        var nextCalls = FileSystemCalls.live
        nextCalls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            steps.withLock { $0.append("append") }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        nextCalls.synchronize = { descriptor throws(SystemError) in
            let isFolder = try FileSystemCalls.live.status(of: descriptor).kind == .folder
            steps.withLock { $0.append(isFolder ? "folder" : "list") }
            try FileSystemCalls.live.synchronize(descriptor)
        }
        let next = fixture.backend(never, calls: nextCalls)
        try next.set(["b": 2])
        #expect(throws: (any Error).self) { try fixture.backend(never, calls: callsUntilRenaming).checkpoint() }
        try next.set(["b": 3])
        steps.exchange([])
        try next.checkpoint()
        #expect(steps.withLock { $0.prefix(3) } == ["list", "folder", "append"])
        #expect(try fixture.stored() == ["a": 1, "b": 3])
    }

    @Test("A checkpoint that fails is reported, and loses nothing")
    func failing() async throws {
        var calls = FileSystemCalls.live
        let isFull = Lock(false)
        calls.renameFile = { from, to throws(SystemError) in
            if isFull.withLock({ $0 }), to.path.hasSuffix("settings.plist") { throw SystemError(ENOSPC) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let store = try ObservableStore(backend: fixture.backend(never, calls: calls))
        store[key] = 2
        try await store.flush(to: .journal)
        isFull.withLock { $0 = true }
        await #expect(throws: StorageError.self) { try await store.flush() }
        await #expect(throws: StorageError.self) { try await store.close() }
        #expect(store[key] == 2)
        #expect(try fixture.backend().load().values == ["a": 2])
        isFull.withLock { $0 = false }
        try await store.close()
        #expect(try fixture.stored() == ["a": 2])
    }

    @Test("A suspended store writes no list, until it is resumed")
    func suspended() async throws {
        let store = try ObservableStore(backend: fixture.backend(never))
        store[key] = 2
        try await store.flush(to: .journal)
        await store.suspend()
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(try fixture.stored() == ["a": 1])
        store.resume()
        try await store.flush()
        #expect(try fixture.stored() == ["a": 2])
        try await store.close()
    }

    @Test("Closing with discarded edits ends a store whose list cannot be written; its journal has the edits")
    func discarded() async throws {
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if to.path.hasSuffix("settings.plist") { throw SystemError(EIO) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let store = try ObservableStore(backend: fixture.backend(never, calls: calls))
        store[key] = 2
        try await store.flush(to: .journal)
        try await store.close(discardingEdits: true)
        #expect(try fixture.backend().load().values == ["a": 2])
    }

    @Test("An edit of the list whose checkpoint fails says that the edit is stored: a command that is repeated would make it twice")
    func listEdit() throws {
        let isFailing = Lock(true)
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if to.path.hasSuffix("settings.plist"), isFailing.exchange(false) { throw SystemError(ENOSPC) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let list = fixture.backend(calls: calls)
        let error = #expect(throws: StorageError.self) { try list.editList { $0["a"] = 2 } }
        #expect(error?.description.contains("kept in a log beside the file") == true, "\(String(describing: error))")
        #expect(try fixture.stored() == ["a": 1])
        #expect(try fixture.backend().load().values == ["a": 2])
        #expect(try list.editList { $0["b"] = 3 }.values == ["a": 2, "b": 3])
        #expect(try fixture.stored() == ["a": 2, "b": 3])
    }
}
