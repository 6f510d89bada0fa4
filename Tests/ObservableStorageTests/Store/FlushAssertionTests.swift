import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Assertions for flushes", .timeLimit(.minutes(10)))
struct FlushAssertionTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let events = Recorder<String>()

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    /// A store in a group container, whose lock is requested from `activity`.
    private func store(_ activity: @escaping ExpiringActivity, calls: FileSystemCalls = .live) throws -> ObservableStore {
        let backend = PropertyListFile(
            at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls.inAppGroup)
        return ObservableStore(backend: backend, entries: try backend.load(), activity: activity)
    }

    /// An activity that the system grants, and whose beginning and end are recorded.
    private var granted: ExpiringActivity {
        { [events] reason, body in
            events.record(reason)
            DispatchQueue.global().async {
                body(false)
                events.record("ended")
            }
        }
    }

    @Test("A call grants the activity or refuses it; after the end it has no effect")
    func transitions() throws {
        let interruption = Interruption()
        interruption.request(.background)
        let body = Lock<(@Sendable (Bool) -> Void)?>(nil)
        let granted = FlushAssertion(
            { _, call in
                body.withLock { $0 = call }
                DispatchQueue.global().async { call(false) }
            }, of: "file", interruption)
        let call = try #require(body.withLock { $0 })
        #expect(!interruption.isRequested)
        // The activity is granted once.
        call(false)
        granted.finish()
        #expect(interruption.isRequested)
        interruption.withdraw(.background)
        call(true)
        #expect(!interruption.isRequested)
        let refused = FlushAssertion({ _, call in [true, false, true].forEach(call) }, of: "file", interruption)
        #expect(interruption.isRequested)
        refused.finish()
        #expect(!interruption.isRequested)
    }

    @Test("There is one activity for each flush and each transaction, and none for each call")
    func oneForEach() async throws {
        let store = try store(granted)
        await store.isolated { _ in
            for count in 1...100 { store[Keys.count] = count }
        }
        try await store.flush()
        try await store.update { $0[Keys.count] += 1 }
        _ = try await events.elements { $0.count == 4 }
        #expect(events.elements.filter { $0 == "writing \(file.path)" }.count == 2)
        #expect(try PropertyListFile(at: file).load().values == ["count": 101])
    }

    @Test("Other files need no activity")
    func otherFiles() async throws {
        let backend = PropertyListFile(at: file)
        let store = ObservableStore(backend: backend, entries: try backend.load(), activity: granted)
        store[Keys.count] = 5
        try await store.flush()
        #expect(events.elements.isEmpty)
    }

    @Test("If the activity is refused, nothing is locked, and the edits wait for another attempt")
    func refused() async throws {
        let isRefused = Lock(true)
        let store = try store(
            { _, body in
                let isExpiring = isRefused.withLock { $0 }
                DispatchQueue.global().async { body(isExpiring) }
            })
        let failures = store.failures
        store[Keys.count] = 5
        await #expect(throws: StorageError.suspended(file: file.path, edits: .kept)) { try await store.flush() }
        // Another attempt, made behind, may have a temporary file at this moment.
        #expect(try folder.names().filter { !$0.hasSuffix(".tmp") }.isEmpty)
        #expect(store.availability == .available)
        isRefused.withLock { $0 = false }
        try await store.flush()
        #expect(try PropertyListFile(at: file).load().values == ["count": 5])
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
    }

    @Test("A flush whose time runs out while it waits for the lock gives up, and the next one is not affected")
    func expired() async throws {
        try folder.make(".settings.plist.lock", "")
        let lock = try FileHandle(forUpdating: folder.file(".settings.plist.lock"))
        try #require(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        let activity = Lock<(@Sendable (Bool) -> Void)?>(nil)
        let waits = Recorder<Bool>()
        var calls = FileSystemCalls.live
        calls.pause = { duration in
            FileSystemCalls.live.pause(duration)
            waits.record(true)
        }
        let store = try store(
            { _, body in
                activity.withLock { $0 = body }
                DispatchQueue.global().async {
                    body(false)
                    events.record("ended")
                }
            }, calls: calls)
        store[Keys.count] = 5
        _ = try await waits.elements(count: 20)
        let body = try #require(activity.withLock { $0 })
        DispatchQueue.global().async {
            body(true)
            events.record("interrupted")
        }
        _ = try await events.elements(count: 2)
        try lock.close()
        try await store.flush()
        #expect(try PropertyListFile(at: file).load().values == ["count": 5])
    }
}
