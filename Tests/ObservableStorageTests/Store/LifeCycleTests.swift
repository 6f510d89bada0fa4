import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("The life cycle of an application", .timeLimit(.minutes(10)))
struct LifeCycleTests {
    private let folder: TemporaryFolder
    private let registry = StoreRegistry()

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A store in a group container, or another one, that follows the life cycle.
    private func store(_ name: String, isInGroupContainer: Bool = true, calls: FileSystemCalls = .live) throws -> ObservableStore {
        let store = try ObservableStore(
            backend: PropertyListFile(
                at: folder.file(name), onCorruption: .refuse, lockTimeout: .seconds(500), isInGroupContainer: isInGroupContainer,
                calls: calls))
        _ = registry.add(store)
        return store
    }

    private func stored(_ name: String) throws -> [String: PropertyListValue] {
        try PropertyListFile(at: folder.file(name)).load().values
    }

    @Test("Each change between foreground and background acts once; the end and the unlocking of the device act always")
    func transitions() {
        var cycle = LifeCycle()
        let events: [LifeCycle.Event] = [
            .willEnterForeground, .protectedDataDidBecomeAvailable, .didEnterBackground, .didEnterBackground,
            .protectedDataDidBecomeAvailable, .willTerminate, .willEnterForeground, .willEnterForeground, .didEnterBackground,
            .willTerminate,
        ]
        let actions = events.map { cycle.handle($0) }
        #expect(
            actions == [
                nil, .lookAgain, .flushAndSuspend, nil, .lookAgain, .writeAll, .resume, nil, .flushAndSuspend, .writeAll,
            ])
    }

    @Test("The notifications of applications and of the hosts of extensions are the same events")
    func notifications() {
        #expect(LifeCycle.notifications["NSExtensionHostDidEnterBackgroundNotification"] == .didEnterBackground)
        #expect(LifeCycle.notifications["UIApplicationDidEnterBackgroundNotification"] == .didEnterBackground)
        #expect(LifeCycle.notifications["NSExtensionHostWillEnterForegroundNotification"] == .willEnterForeground)
        #expect(LifeCycle.notifications["UIApplicationWillEnterForegroundNotification"] == .willEnterForeground)
        #expect(LifeCycle.notifications["NSApplicationWillTerminateNotification"] == .willTerminate)
        #expect(LifeCycle.notifications.count == 9)
    }

    @Test("In the background the stores in group containers are written and suspended, and in the foreground resumed")
    func background() async throws {
        let (shared, own) = (try store("shared.plist"), try store("own.plist", isInGroupContainer: false))
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        // Its queue is busy, so that the edit is not written before.
        await shared.isolated { _ in
            shared[Keys.count] = 5
            observer.handle(.didEnterBackground)
        }
        await observer.settle()
        #expect(shared.isSuspended && !own.isSuspended)
        #expect(try stored("shared.plist") == ["count": 5])
        shared[Keys.count] = 6
        await shared.settle()
        #expect(try stored("shared.plist") == ["count": 5])
        observer.handle(.willEnterForeground)
        await observer.settle()
        try await shared.flush()
        #expect(try stored("shared.plist") == ["count": 6])
    }

    @Test("What is set during the notification of the background is written as well")
    func lateEdit() async throws {
        let shared = try store("shared.plist")
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        await MainActor.run {
            observer.handle(.didEnterBackground)
            shared[Keys.count] = 5
        }
        await observer.settle()
        #expect(shared.isSuspended)
        #expect(try stored("shared.plist") == ["count": 5])
    }

    @Test("An application that returns at once ends with its stores resumed, and the activity lasts until they are suspended")
    func quickReturn() async throws {
        let shared = try store("shared.plist")
        let ends = Recorder<Bool>()
        let observer = LifeCycleObserver(
            registry: registry,
            activity: ExpiringActivity { _, body in
                DispatchQueue.global().async {
                    body(false)
                    ends.record(shared.isSuspended)
                }
            })
        observer.handle(.didEnterBackground)
        await observer.settle()
        #expect(try await ends.elements(count: 1) == [true])
        observer.handle(.willEnterForeground)
        observer.handle(.didEnterBackground)
        observer.handle(.willEnterForeground)
        await observer.settle()
        #expect(!shared.isSuspended)
    }

    @Test("If the time in the background runs out, a write that waits for the lock gives up")
    func expiration() async throws {
        try folder.make(".shared.plist.lock", "")
        let lock = try FileHandle(forUpdating: folder.file(".shared.plist.lock"))
        try #require(flock(lock.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        let waits = Recorder<Bool>()
        var calls = FileSystemCalls.live
        calls.pause = { duration in
            FileSystemCalls.live.pause(duration)
            waits.record(true)
        }
        let shared = try store("shared.plist", calls: calls)
        let bodies = Recorder<@Sendable (Bool) -> Void>()
        let observer = LifeCycleObserver(registry: registry, activity: ExpiringActivity { _, body in bodies.record(body) })
        shared[Keys.count] = 5
        observer.handle(.didEnterBackground)
        _ = try await waits.elements(count: 20)
        let body = try #require(try await bodies.elements(count: 1).first)
        DispatchQueue.global().async { body(true) }
        await observer.settle()
        #expect(shared.isSuspended && shared[Keys.count] == 5)
        try lock.close()
        observer.handle(.willEnterForeground)
        await observer.settle()
        try await shared.flush()
        #expect(try stored("shared.plist") == ["count": 5])
    }

    @Test("At the end the edits of all stores have been written on return, also of suspended ones")
    func termination() async throws {
        let (shared, own) = (try store("shared.plist"), try store("own.plist", isInGroupContainer: false))
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        observer.handle(.didEnterBackground)
        await observer.settle()
        (shared[Keys.count], own[Keys.count]) = (5, 6)
        // On a busy machine, two writes may take longer than an end of the process may.
        let timeout = ObservableStore.exitTimeout
        ObservableStore.exitTimeout = .seconds(500)
        defer { ObservableStore.exitTimeout = timeout }
        observer.handle(.willTerminate)
        #expect(try stored("shared.plist") == ["count": 5])
        #expect(try stored("own.plist") == ["count": 6])
    }

    @Test("A store whose file could not be opened before the device was unlocked keeps its edits, overwrites nothing, and opens afterwards")
    func firstUnlock() async throws {
        let file = folder.file("shared.plist")
        try PropertyListValue.dictionary(["count": 1, "text": "stored"]).encoded(as: .binary).write(to: file)
        let isLocked = Lock(true)
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if path.path == file.path, isLocked.withLock({ $0 }) { throw SystemError(EPERM) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let store = ObservableStore(
            backend: PropertyListFile(at: file, onCorruption: .refuse, lockTimeout: .seconds(500), isInGroupContainer: true, calls: calls),
            layersIfReadable: nil)
        _ = registry.add(store)
        #expect(store.availability != .available && store[Keys.text] == "")
        store[Keys.count] = 5
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(try stored("shared.plist") == ["count": 1, "text": "stored"])
        isLocked.withLock { $0 = false }
        LifeCycleObserver(registry: registry, activity: nil).handle(.protectedDataDidBecomeAvailable)
        for await availability in store.availabilityUpdates where availability == .available { break }
        #expect(store[Keys.text] == "stored")
        #expect(try stored("shared.plist") == ["count": 5, "text": "stored"])
    }
}
