import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Suspending a store", .timeLimit(.minutes(10)))
struct SuspensionTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private var stored: [String: PropertyListValue] {
        get throws { try PropertyListFile(at: file).load().values }
    }

    /// The lock file, locked by another process for as long as the file is open.
    private func lockElsewhere() throws -> FileHandle {
        try folder.make(".settings.plist.lock", "")
        let lock = try FileHandle(forUpdating: folder.file(".settings.plist.lock"))
        try #require(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        return lock
    }

    @Test("Edits wait in memory, and nothing is created or locked, until the store is resumed")
    func waiting() async throws {
        let store = try ObservableStore(at: file)
        await store.suspend()
        #expect(store.isSuspended)
        store[Keys.count] = 5
        let failure = StorageError.suspended(file: file.path, edits: .kept)
        await #expect(throws: failure) { try await store.flush() }
        await #expect(throws: StorageError.suspended(file: file.path, edits: .rolledBack)) {
            try await store.update { $0[Keys.count] = 6 }
        }
        await store.settle()
        #expect(store[Keys.count] == 5 && store.availability == .available)
        #expect(try folder.names() == [])
        #expect(failure.description.contains("\(file.path): not written") && failure.description.contains("resume() the store"))
        store.resume()
        #expect(!store.isSuspended)
        // The write that resuming has queued.
        await store.settle()
        #expect(try stored == ["count": 5])
    }

    @Test("A suspended store writes nothing to a storage that is no file, either")
    func waitingForOtherStorage() async throws {
        let storage = InMemoryBackend()
        let store = try ObservableStore(backend: storage)
        await store.suspend()
        store[Keys.count] = 5
        await #expect(throws: StorageError.suspended(file: "memory", edits: .kept)) { try await store.flush() }
        await #expect(throws: StorageError.suspended(file: "memory", edits: .rolledBack)) {
            try await store.update { $0[Keys.count] = 6 }
        }
        #expect(storage.load().values.isEmpty)
        store.resume()
        try await store.flush()
        #expect(storage.load().values == ["count": 5])
    }

    @Test("Nothing that waits for a suspended store is reported as a failure")
    func noFailures() async throws {
        let store = try ObservableStore(at: file)
        let failures = store.failures
        await store.suspend()
        store[Keys.count] = 5
        await #expect(throws: StorageError.self) { try await store.flush() }
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
    }

    @Test("A write that waits for the lock gives it up when the store is suspended", arguments: [true, false])
    func waitingForTheLock(isOutsideContainer: Bool) async throws {
        let lock = try lockElsewhere()
        let waits = Recorder<Bool>()
        var calls = FileSystemCalls.live
        calls.pause = { duration in
            FileSystemCalls.live.pause(duration)
            if isOutsideContainer { waits.record(true) }
        }
        calls.awaitLock = { descriptor throws(SystemError) in
            waits.record(true)
            try FileSystemCalls.live.awaitLock(descriptor)
        }
        let backend = PropertyListFile(
            at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: isOutsideContainer ? calls.inAppGroup : calls)
        let store = try ObservableStore(backend: backend)
        store[Keys.count] = 5
        // More pauses than the few before waiting begins.
        _ = try await waits.elements(count: isOutsideContainer ? 20 : 1)
        await store.suspend()
        #expect(store[Keys.count] == 5)
        let count = waits.elements.count
        await #expect(throws: StorageError.suspended(file: file.path, edits: .kept)) { try await store.flush() }
        #expect(waits.elements.count == count)
        try lock.close()
        store.resume()
        try await store.flush()
        #expect(try stored == ["count": 5])
    }

    @Test("In a group container the lock is polled, so that no thread waits for it while the process is suspended")
    func polling() async throws {
        let lock = try lockElsewhere()
        var calls = FileSystemCalls.live
        let pauses = Recorder<Bool>()
        calls.pause = { duration in
            FileSystemCalls.live.pause(duration)
            pauses.record(true)
        }
        calls.awaitLock = { _ throws(SystemError) in Issue.record("a thread waits for the lock") }
        let backend = PropertyListFile(
            at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls.inAppGroup)
        let store = try ObservableStore(backend: backend)
        store[Keys.count] = 5
        _ = try await pauses.elements(count: 20)
        try lock.close()
        try await store.flush()
        #expect(try stored == ["count": 5])
    }

    @Test("Suspending returns after the write that is under way, and then another process can lock at once")
    func writing() async throws {
        let entered = Recorder<Bool>()
        let gate = DispatchSemaphore(value: 0)
        let backend = UnreliableBackend(PropertyListFile(at: file))
        backend.pause {
            entered.record(true)
            gate.wait()
        }
        let store = try ObservableStore(backend: backend)
        let steps = Recorder<String>()
        store[Keys.count] = 5
        _ = try await entered.elements(count: 1)
        backend.pause(nil)
        let suspension = Task {
            await store.suspend()
            steps.record("suspended")
        }
        while !store.isSuspended { await Task.yield() }
        #expect(steps.elements.isEmpty)
        gate.signal()
        await suspension.value
        // The write was past the edit, but not yet at the lock.
        #expect(try folder.names().filter { $0.hasSuffix(".tmp") }.isEmpty)
        _ = try lockElsewhere()
        try await store.close()
        #expect(try stored == ["count": 5])
    }

    @Test("Changes by others are reported meanwhile", arguments: Fixture.quick)
    func external(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        await store.suspend()
        let values = store.values(of: Keys.count)
        _ = try storage.edit { $0["count"] = 5 }
        for await value in values where value == 5 { break }
        store.resume()
    }

    @Test("Resuming looks at the storage again and writes what waited, however often the store was suspended", arguments: [true, false])
    func resuming(hasEdits: Bool) async throws {
        let backend = HookedBackend()
        let store = try ObservableStore(backend: backend)
        await store.suspend()
        await store.suspend()
        if hasEdits { store[Keys.text] = "own" }
        _ = try backend.memory.edit { $0["count"] = 5 }
        let loads = backend.loads
        store.resume()
        store.resume()
        await store.settle()
        #expect(store[Keys.count] == 5 && backend.loads == loads + 1)
        #expect(backend.memory.load().values == (hasEdits ? ["count": 5, "text": "own"] : ["count": 5]))
    }

    @Test("Closing and releasing a suspended store write its edits", arguments: ["close", "release"])
    func end(way: String) async throws {
        let other = try ObservableStore(at: file)
        let values = other.values(of: Keys.count)
        var store: ObservableStore? = try ObservableStore(at: file)
        await store?.suspend()
        store?[Keys.count] = 5
        if way == "close" { try await store?.close() }
        store = nil
        for await value in values where value == 5 { break }
        #expect(try stored == ["count": 5])
    }

    @Test("A store that could not be closed is suspended again")
    func failedClose() async throws {
        let backend = UnreliableBackend()
        let store = try ObservableStore(backend: backend)
        await store.suspend()
        store[Keys.count] = 5
        backend.fail(.unwritable(file: "unreliable", reason: "full"))
        await #expect(throws: StorageError.self) { try await store.close() }
        #expect(store.isSuspended)
        backend.fail(nil)
        store.resume()
        try await store.flush()
        #expect(try backend.load().values == ["count": 5])
    }

    @Test("A store that is resumed while closing it fails stays resumed, and one that is suspended again meanwhile is suspended")
    func resumedWhileClosing() async throws {
        let backend = HookedBackend()
        let store = try ObservableStore(backend: backend)
        for isSuspendedAgain in [true, false] {
            await store.suspend()
            store[Keys.count] = 5
            _ = try backend.memory.edit { $0["text"] = .string(isSuspendedAgain ? "first" : "second") }
            backend.failEdit {
                store.resume()
                if isSuspendedAgain { store.synchronizer.beginSuspension() }
            }
            await #expect(throws: StorageError.self) { try await store.close() }
            #expect(store.isSuspended == isSuspendedAgain)
        }
        // Nobody resumes it again: the edit is written, and the change by others is found.
        for await text in store.values(of: Keys.text) where text == "second" { break }
        await store.settle()
        #expect(backend.memory.load().values == ["count": 5, "text": "second"])
    }

    @Test("Reading neither locks nor repairs a file while it is interrupted", arguments: ["copy", "malformed"])
    func reading(_ state: String) async throws {
        let whole = try PropertyListValue.dictionary(["count": 1]).encoded(as: .xml)
        try folder.make(".settings.plist.copy")
        try whole.write(to: folder.file(".settings.plist.copy"))
        if state == "malformed" { try FileManager.default.removeItem(at: folder.file(".settings.plist.copy")) }
        try folder.make("settings.plist", state == "copy" ? "" : "bad")
        let names = try folder.names()
        let interruption = Interruption()
        interruption.request(.suspension)
        let backend = PropertyListFile(
            at: file, configuration: .with { ($0.onCorruption, $0.inPlaceWriting) = (.quarantine, .whenNecessary()) })
        await #expect(throws: StorageError.suspended(file: file.path)) { try await interruption.cover { try backend.load() } }
        #expect(try folder.names() == names)
        interruption.withdraw(.suspension)
        #expect(try await interruption.cover { try backend.load() }.values == (state == "copy" ? ["count": 1] : [:]))
    }

    @Test("An interruption lasts until every reason is withdrawn, and does not cover user code inside")
    func reasons() async {
        let interruption = Interruption()
        interruption.request(.suspension)
        interruption.request(.expiration)
        interruption.withdraw(.expiration)
        #expect(interruption.isRequested)
        await interruption.cover {
            #expect(Interruption.current === interruption)
            Interruption.withoutAny { #expect(Interruption.current == nil) }
        }
        interruption.withdraw(.suspension)
        #expect(!interruption.isRequested && Interruption.current == nil)
    }

    @Test("The background interrupts everything but an activity, which a suspension and its own end interrupt nevertheless")
    func background() {
        let interruption = Interruption()
        interruption.request(.activity)
        #expect(!interruption.isRequested)
        interruption.withdraw(.activity)
        interruption.request(.background)
        #expect(interruption.isRequested)
        interruption.request(.activity)
        #expect(!interruption.isRequested)
        for reason in [Interruption.Reason.suspension, .expiration] {
            interruption.request(reason)
            #expect(interruption.isRequested)
            interruption.withdraw(reason)
        }
        interruption.withdraw(.activity)
        #expect(interruption.isRequested)
        interruption.withdraw(.background)
        #expect(!interruption.isRequested)
    }
}

extension FileSystemCalls {
    /// The same, with the rules of a system that lets no suspended process lock a file outside of the application's own container.
    var inAppGroup: FileSystemCalls {
        var calls = self
        calls.rules = SystemRules(.iOS, home: "/none", isSandboxed: false)
        return calls
    }
}
