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
    private func store(
        _ name: String, isOutsideContainer: Bool = true, activity: ExpiringActivity? = granted, calls: FileSystemCalls = .live
    ) throws -> ObservableStore {
        let backend = PropertyListFile(
            at: folder.file(name), configuration: .with { $0.lockTimeout = .seconds(500) },
            calls: isOutsideContainer ? calls.inAppGroup : calls)
        let store = ObservableStore(backend: backend, entries: try backend.load(), activity: activity)
        registry.add(store.synchronizer)
        return store
    }

    /// Activities that the system grants.
    private static let granted: ExpiringActivity = { _, body in DispatchQueue.global().async { body(false) } }

    /// Waits until another store of the shared file sees a value.
    private func seen(_ value: Int) async throws {
        let other = try ObservableStore(at: folder.file("shared.plist"))
        for await count in other.values(of: Keys.count) where count == value { break }
    }

    private func stored(_ name: String) throws -> [String: PropertyListValue] {
        try PropertyListFile(at: folder.file(name)).load().values
    }

    @Test("Each change between foreground and background acts once")
    func transitions() {
        let requests = Recorder<String>()
        let observer = LifeCycleObserver(registry: registry, activity: { reason, _ in requests.record(reason) })
        func handle(_ events: LifeCycleObserver.Event...) { for event in events { observer.handle(event) } }
        handle(.willEnterForeground, .didEnterBackground, .didEnterBackground)
        #expect(requests.elements.count == 1)
        handle(.willEnterForeground, .willEnterForeground, .didEnterBackground)
        #expect(requests.elements.count == 2)
    }

    @Test("The notifications of applications and of the hosts of extensions are the same events")
    func notifications() {
        #expect(LifeCycleObserver.notifications["NSExtensionHostDidEnterBackgroundNotification"] == .didEnterBackground)
        #expect(LifeCycleObserver.notifications["UIApplicationDidEnterBackgroundNotification"] == .didEnterBackground)
        #expect(LifeCycleObserver.notifications["NSExtensionHostWillEnterForegroundNotification"] == .willEnterForeground)
        #expect(LifeCycleObserver.notifications["UIApplicationWillEnterForegroundNotification"] == .willEnterForeground)
        #expect(LifeCycleObserver.notifications["NSApplicationWillTerminateNotification"] == .willTerminate)
        #expect(LifeCycleObserver.notifications.count == 12)
    }

    @Test("In the background the stores in group containers are written, and so are the edits that are made there")
    func background() async throws {
        let shared = try store("shared.plist")
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        // Its queue is busy, so that the edit is not written before.
        await shared.isolated { _ in
            shared[Keys.count] = 5
            observer.handle(.didEnterBackground)
        }
        await observer.settle()
        #expect(try stored("shared.plist") == ["count": 5])
        shared[Keys.count] = 6
        try await seen(6)
        #expect(!shared.isSuspended)
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
        #expect(try stored("shared.plist") == ["count": 5])
    }

    @Test("The activity of the background lasts until the stores are written, or its time runs out", arguments: [false, true])
    func activity(isExpiring: Bool) async throws {
        let shared = try store("shared.plist")
        let (bodies, ends) = (Recorder<@Sendable (Bool) -> Void>(), Recorder<[String: PropertyListValue]>())
        let observer = LifeCycleObserver(registry: registry, activity: { _, body in bodies.record(body) })
        let gate = DispatchSemaphore(value: 0)
        shared.executor.queue.async { gate.wait() }
        shared[Keys.count] = 5
        observer.handle(.didEnterBackground)
        let body = try #require(try await bodies.elements(count: 1).first)
        DispatchQueue.global().async { [folder] in
            body(false)
            ends.record((try? PropertyListFile(at: folder.file("shared.plist")).load().values) ?? [:])
        }
        if isExpiring {
            body(true)
            #expect(try await ends.elements(count: 1) == [[:]])
        }
        gate.signal()
        if !isExpiring { #expect(try await ends.elements(count: 1) == [["count": 5]]) }
        await observer.settle()
    }

    /// The system, which refuses activities or grants them.
    private final class Activities: Sendable {
        let areRefused = Lock(true)
    }

    /// A store that was edited in the background.
    private func editedInBackground(_ activities: Activities) async throws -> (store: ObservableStore, observer: LifeCycleObserver) {
        let shared = try store(
            "shared.plist",
            activity: { _, body in
                let isExpiring = activities.areRefused.withLock { $0 }
                DispatchQueue.global().async { body(isExpiring) }
            })
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        observer.handle(.didEnterBackground)
        shared[Keys.count] = 5
        await observer.settle()
        return (shared, observer)
    }

    @Test("In the background, nothing is locked without an activity: edits wait, and are written as soon as one is granted")
    func refusedActivity() async throws {
        let activities = Activities()
        let (shared, _) = try await editedInBackground(activities)
        await #expect(throws: StorageError.suspended(file: shared.name, edits: .kept)) { try await shared.flush() }
        #expect(try folder.names().filter { !$0.hasSuffix(".tmp") }.isEmpty)
        // Without returning to the foreground, as when the system lets the process run for a new location.
        activities.areRefused.withLock { $0 = false }
        try await seen(5)
    }

    @Test("In the foreground, edits are written for which no activity was granted, and other processes' are found")
    func foreground() async throws {
        let activities = Activities()
        let (shared, observer) = try await editedInBackground(activities)
        // Released, it would write its edits for that.
        defer { withExtendedLifetime(shared) {} }
        activities.areRefused.withLock { $0 = false }
        observer.handle(.willEnterForeground)
        try await seen(5)
        #expect(try stored("shared.plist") == ["count": 5])
    }

    @Test("In the background, reading locks nothing; a store that is opened there, too, does not before the foreground")
    func readingInBackground() async throws {
        try folder.make("shared.plist", "bad")
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        observer.handle(.didEnterBackground)
        let backend = PropertyListFile(
            at: folder.file("shared.plist"),
            configuration: .with { ($0.onCorruption, $0.lockTimeout) = (.quarantine, .seconds(500)) },
            calls: FileSystemCalls.live.inAppGroup)
        let shared = ObservableStore(backend: backend, entries: StorageEntries(), activity: nil)
        registry.add(shared.synchronizer)
        await #expect(throws: StorageError.suspended(file: shared.name)) { try await shared.synchronizer.read() }
        #expect(try folder.names() == ["shared.plist"])
        observer.handle(.willEnterForeground)
        try await shared.synchronizer.read()
        #expect(try folder.names().contains { $0.hasPrefix("shared.plist.corrupt-") })
    }

    @Test("Stores in the application's own container are written at any time", arguments: [true, false])
    func ownContainer(isInBackground: Bool) async throws {
        let own = try store("own.plist", isOutsideContainer: false, activity: { _, _ in Issue.record("requested") })
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        if isInBackground { observer.handle(.didEnterBackground) }
        own[Keys.count] = 5
        try await own.flush()
        #expect(try stored("own.plist") == ["count": 5])
    }

    @Test("At the end the edits of all stores have been written on return, also of suspended ones")
    func termination() async throws {
        let (shared, own) = (try store("shared.plist"), try store("own.plist", isOutsideContainer: false))
        let observer = LifeCycleObserver(registry: registry, activity: nil)
        await shared.suspend()
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
            backend: PropertyListFile(
                at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls.inAppGroup),
            layersIfReadable: LayerFiles())
        registry.add(store.synchronizer)
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
