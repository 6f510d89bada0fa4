import Dispatch
import Foundation
@testable import CloudStorage
@testable import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Mirrors of stores", .timeLimit(.minutes(10)))
struct CloudMirrorTests {
    private func store(_ entries: [String: PropertyListValue] = [:]) throws -> ObservableStore {
        try ObservableStore(backend: InMemoryBackend(entries))
    }

    /// Waits until a key has a value.
    private func wait<Value: Equatable>(for value: Value, of key: StorageKey<Value>, in store: ObservableStore) async {
        for await present in store.values(of: key) where present == value { return }
    }

    /// Waits until a value was pushed.
    private func wait(for value: PropertyListValue, of name: String, in cloud: InMemoryCloud) async {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let token = cloud.makeRemote().observe { _ in continuation.yield() }
        continuation.yield()
        for await _ in changes where cloud.values[name].map(CloudEnvelope.init(reading:))?.value == value { break }
        token.cancel()
    }

    @Test("An edit on one device arrives on the other, and so does a removal, with the origin external")
    func twoDevices() async throws {
        let cloud = InMemoryCloud()
        let (phone, tablet) = (try store(), try store())
        let mirrors = [phone, tablet].map { CloudMirror($0, keys: Keys.count, Keys.text, remote: cloud.makeRemote()) }
        defer { withExtendedLifetime(mirrors) {} }
        for mirror in mirrors { mirror.start() }
        var changes = tablet.changes(of: Keys.count).makeAsyncIterator()
        phone[Keys.count] = 1
        var change = try #require(await changes.next())
        #expect((change.newValue, change.kind, change.origin) == (1, .set, .external))
        phone.remove(Keys.count)
        change = try #require(await changes.next())
        #expect((change.newValue, change.kind, change.origin) == (0, .removed, .external))
        #expect(!tablet.isSet(Keys.count))
        tablet[Keys.text] = "hello"
        await wait(for: "hello", of: Keys.text, in: phone)
    }

    @Test("Every type of value arrives as it is, dates to the last bit")
    func types() async throws {
        let values: [PropertyListValue] = [
            "text", 1, 1.0, true, .date(Date(timeIntervalSinceReferenceDate: 0.123456789)), .data(Data([0, 255])), [1, [2.5]],
            ["a": ["b": false]],
        ]
        let key = StorageKey<PropertyListValue?>("any")
        let cloud = InMemoryCloud()
        let (phone, tablet) = (try store(), try store())
        let mirrors = [phone, tablet].map { CloudMirror($0, keys: key, remote: cloud.makeRemote()) }
        defer { withExtendedLifetime(mirrors) {} }
        for mirror in mirrors { mirror.start() }
        for value in values {
            phone[key] = value
            await wait(for: value, of: key, in: tablet)
        }
    }

    @Test("A file that rounds dates keeps its rounded value, and does not push it")
    func rounding() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        try PropertyListValue.dictionary([:]).encoded(as: .xml).write(to: file)
        let key = StorageKey<Date?>("date")
        let date = Date(timeIntervalSinceReferenceDate: 5.25)
        let cloud = InMemoryCloud(["date": CloudEnvelope(.date(date), at: 5).entry])
        let before = cloud.values
        let store = try ObservableStore(at: file)
        let mirror = CloudMirror(store, keys: key, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await wait(for: Date(timeIntervalSinceReferenceDate: 5), of: key, in: store)
        try await store.flush()
        await mirror.settle()
        #expect(cloud.values == before)
        try await store.close()
    }

    @Test("Keys of a group are mirrored under their names in the store")
    func groups() async throws {
        struct AppKeys: KeyGroup {
            let volume = StorageKey("volume", default: 0.5)
            let theme = StorageKey("theme", default: "light")
        }
        let cloud = InMemoryCloud()
        let settings = KeyedStore<AppKeys>(try store(), prefix: "app")
        let mirror = CloudMirror(settings, \.volume, \.theme, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        settings.volume = 0.7
        await wait(for: 0.7, of: "app/volume", in: cloud)
        #expect(cloud.values.count == 1)
    }

    @Test("An edit or a removal on another device reaches the earlier names of a key, those that keep its value and those that do not")
    func earlierNames() async throws {
        let key = StorageKey("new", default: 0).renamed(from: "kept", keepingOld: true).renamed(from: "old")
        let cloud = InMemoryCloud()
        let (phone, tablet) = (try store(["new": 1, "kept": 1, "old": 9]), try store())
        let failures = phone.failures
        #expect(phone[key] == 1)
        let mirrors = [phone, tablet].map { CloudMirror($0, keys: key, remote: cloud.makeRemote()) }
        defer { withExtendedLifetime(mirrors) {} }
        for mirror in mirrors { mirror.start() }
        func values() -> [String: PropertyListValue] { phone.entries.filter { ["new", "kept", "old"].contains($0.key) } }
        tablet[key] = 2
        await wait(for: 2, of: key, in: phone)
        #expect(values() == ["new": 2, "kept": 2])
        tablet.remove(key)
        await wait(for: 0, of: key, in: phone)
        #expect(values() == [:])
        try await phone.close()
        // Read before the mirrors were started.
        #expect(await failures.reduce(into: []) { $0.append($1) } == [.superseded(key: "new", earlierName: "old")])
    }

    @Test("After the program is started again, an edit made without a mirror is pushed, and nothing else")
    func restart() async throws {
        let backend = InMemoryBackend()
        let cloud = InMemoryCloud()
        for value in 1...3 {
            let store = try ObservableStore(backend: backend)
            if value == 2 { store[Keys.count] = 2 }
            let mirror = CloudMirror(store, keys: Keys.count, Keys.text, remote: cloud.makeRemote())
            defer { withExtendedLifetime(mirror) {} }
            mirror.start()
            await mirror.settle()
            if value == 1 { store[Keys.count] = 1 }
            await wait(for: value == 1 ? 1 : 2, of: "count", in: cloud)
            await mirror.settle()
            try await store.close()
        }
        #expect(cloud.values.keys.sorted() == ["count"])
    }

    @Test("A default that is written by reading it, and a registered one, are not pushed")
    func defaults() async throws {
        let key = StorageKey("level", persistsDefault: .whenMissing, default: 3)
        let cloud = InMemoryCloud()
        let store = try store()
        let mirror = CloudMirror(store, keys: key, Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        try store.register(5, for: Keys.count)
        mirror.start()
        await mirror.settle()
        #expect(store[key] == 3)
        #expect(store[Keys.count] == 5)
        try await store.flush()
        await mirror.settle()
        #expect(cloud.values.isEmpty)
        store[key] = 4
        await wait(for: 4, of: "level", in: cloud)
        #expect(cloud.values.count == 1)
    }

    @Test("Observers of all entries do not see the times that are stored beside the values")
    func hiddenEntries() async throws {
        let (store, cloud) = (try store(), InMemoryCloud())
        let seen = store.allChanges()
        let mirror = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        store[Keys.count] = 1
        await wait(for: 1, of: "count", in: cloud)
        await mirror.settle()
        #expect(CloudStamp(reading: store.entries[CloudStamp.entryName(of: "count")], beside: 1)?.isPushed == true)
        try await store.close()
        var names: [String] = []
        for await change in seen { names.append(change.key) }
        #expect(names == ["count"])
    }

    @Test("Key, limit and quota are told as events and in the store's failures")
    func failures() async throws {
        let long = StorageKey(String(repeating: "n", count: 65), default: 0)
        let nested = StorageKey("server", "port", default: 80)
        let cloud = InMemoryCloud(["count": "text"])
        let store = try store()
        let mirror = CloudMirror(store, keys: long, nested, Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        var events = mirror.events.makeAsyncIterator()
        var failures = store.failures.makeAsyncIterator()
        mirror.start()
        let reason = "its name has 65 bytes, and iCloud allows 64"
        #expect(await events.next() == .refused(key: long.name, reason: reason))
        #expect(await failures.next() == .unmirrored(key: long.name, reason: reason))
        let inside = "it is a value inside a dictionary; mirror a key of the whole dictionary instead"
        #expect(await events.next() == .refused(key: ".server.port", reason: inside))
        #expect(await failures.next() == .unmirrored(key: ".server.port", reason: inside))
        guard case .rejected(let error)? = await events.next() else {
            Issue.record("not rejected")
            return
        }
        #expect(await failures.next() == error)
        #expect(!store.isSet(Keys.count))
        cloud.replaceValues([:], because: .quotaViolation)
        #expect(await events.next() == .quotaExceeded)
        let full = try #require(await failures.next())
        #expect(full.description.hasPrefix("edits are not mirrored at present: iCloud is full"))
    }

    @Test("Another account, and the begin of a download after which the mirror pushes again, are told")
    func accountAndDownload() async throws {
        let cloud = InMemoryCloud()
        let store = try store()
        let delays = Recorder<@Sendable () -> Void>()
        let mirror = CloudMirror(store, [Keys.count], cloud.makeRemote(), afterDelay: { _, body in delays.record(body) })
        defer { withExtendedLifetime(mirror) {} }
        var events = mirror.events.makeAsyncIterator()
        mirror.start()
        store[Keys.count] = 1
        await wait(for: 1, of: "count", in: cloud)
        cloud.replaceValues([:], because: .accountChange)
        #expect(await events.next() == .accountChanged)
        await mirror.settle()
        #expect(cloud.values.isEmpty)
        #expect(store[Keys.count] == 1)
        cloud.replaceValues([:], because: .initialSync)
        #expect(await events.next() == .downloadBegan)
        store[Keys.count] = 2
        await mirror.settle()
        #expect(cloud.values.isEmpty)
        for body in delays.elements { body() }
        await wait(for: 2, of: "count", in: cloud)
    }

    @Test("An edit between the decision to pull and the pull is kept, and wins")
    func editWhilePulling() async throws {
        let cloud = InMemoryCloud(["count": CloudEnvelope(1, at: 5).entry])
        let store = try store()
        let remote = HookedRemote(cloud.makeRemote()) { store[Keys.count] = 2 }
        let mirror = CloudMirror(store, keys: Keys.count, remote: remote)
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await wait(for: 2, of: "count", in: cloud)
        #expect(store[Keys.count] == 2)
    }

    @Test("Nothing is mirrored after stop, after the store is closed, and after the mirror is released")
    func ends() async throws {
        let cloud = InMemoryCloud()
        let store = try store()
        var mirror: CloudMirror? = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        mirror?.start()
        mirror?.stop()
        await mirror?.settle()
        store[Keys.count] = 1
        await mirror?.settle()
        #expect(cloud.values.isEmpty)
        mirror?.start()
        store[Keys.count] = 2
        await wait(for: 2, of: "count", in: cloud)
        let before = cloud.values
        let events = try #require(mirror?.events)
        mirror = nil
        for await _ in events {}
        store[Keys.count] = 3
        #expect(cloud.values == before)

        let other = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(other) {} }
        other.start()
        await other.settle()
        try await store.close()
        cloud.replaceValues(["count": CloudEnvelope(9, at: .max / 4).entry], because: .serverChange)
        await other.settle()
        #expect(store[Keys.count] == 3)
    }

    @Test("A mirror of a storage that cannot be read yet begins when it is opened, and pulls no older value over a newer one")
    func unopened() async throws {
        let time = CloudStamp(20, isPushed: true).entry(beside: 2)
        let stored: [String: PropertyListValue] = ["count": 2, CloudStamp.entryName(of: "count"): time]
        let backend = UnreliableBackend(InMemoryBackend(stored))
        backend.fail(.unreadable(file: "settings", reason: "the device is locked"))
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        let cloud = InMemoryCloud(["count": CloudEnvelope(1, at: 10).entry])
        let mirror = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await mirror.settle()
        #expect(!store.isSet(Keys.count))
        backend.fail(nil)
        try await store.flush()
        await wait(for: 2, of: "count", in: cloud)
        #expect(store[Keys.count] == 2)
        try await store.close()
    }

    @Test("Existing values are uploaded if that was requested while the mirror waits for its storage")
    func uploadBeforeOpening() async throws {
        let backend = UnreliableBackend(InMemoryBackend(["count": 2]))
        backend.fail(.unreadable(file: "settings", reason: "the device is locked"))
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        let cloud = InMemoryCloud(["text": CloudEnvelope("hello", at: 10).entry])
        let mirror = CloudMirror(store, keys: Keys.count, Keys.text, remote: cloud.makeRemote())
        mirror.start()
        mirror.uploadExisting()
        await mirror.settle()
        backend.fail(nil)
        try await store.flush()
        await wait(for: "hello", of: Keys.text, in: store)
        await mirror.settle()
        #expect(cloud.values["count"] == CloudEnvelope(2, at: 0).entry)
        try await store.close()
    }

    @Test("A mirror that is stopped while it waits for its storage does not begin")
    func stoppedBeforeOpening() async throws {
        let backend = UnreliableBackend(InMemoryBackend())
        backend.fail(.unreadable(file: "settings", reason: "the device is locked"))
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        let cloud = InMemoryCloud(["count": CloudEnvelope(1, at: 10).entry])
        let mirror = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        mirror.stop()
        backend.fail(nil)
        try await store.flush()
        await mirror.settle()
        #expect(!store.isSet(Keys.count))
        mirror.start()
        await wait(for: 1, of: Keys.count, in: store)
        try await store.close()
    }

    @Test("Deleting the file of one device removes nothing from the others, and the values come back")
    func deletedFile() async throws {
        let backend = InMemoryBackend()
        let cloud = InMemoryCloud()
        let store = try ObservableStore(backend: backend)
        let mirror = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        store[Keys.count] = 1
        await wait(for: 1, of: "count", in: cloud)
        await mirror.settle()
        try await store.flush()
        var changes = store.changes(of: Keys.count).makeAsyncIterator()
        let before = cloud.values
        _ = try backend.edit { entries in
            for name in entries.values.keys { entries[name] = nil }
        }
        #expect(await changes.next()?.kind == .removed)
        #expect(await changes.next()?.newValue == 1)
        await mirror.settle()
        #expect(cloud.values == before)
        try await store.close()
    }

    @Test("A push is written to disk before the store notes that it was made")
    func synchronizedPush() async throws {
        let (store, cloud, isNoted) = (try store(), InMemoryCloud(), Recorder<Bool?>())
        let remote = HookedRemote(
            cloud.makeRemote(),
            onSynchronize: {
                guard cloud.values["count"] != nil else { return }
                isNoted.record(CloudStamp(reading: store.entries[CloudStamp.entryName(of: "count")], beside: 1)?.isPushed)
            })
        let mirror = CloudMirror(store, keys: Keys.count, remote: remote)
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await mirror.settle()
        store[Keys.count] = 1
        await wait(for: 1, of: "count", in: cloud)
        await mirror.settle()
        #expect(isNoted.elements == [nil])
        #expect(CloudStamp(reading: store.entries[CloudStamp.entryName(of: "count")], beside: 1)?.isPushed == true)
    }

    @Test("A secret is refused when the mirror is made, and the other keys are mirrored")
    func secrets() async throws {
        let cloud = InMemoryCloud()
        let store = try store()
        var failures = store.failures.makeAsyncIterator()
        let token = StorageKey("mirroredToken", default: "").secret()
        let mirror = CloudMirror(store, keys: token, Keys.text, remote: cloud.makeRemote())
        let reason = "it is a secret; use a keychain that the devices share"
        #expect(await failures.next() == .unmirrored(key: "mirroredToken", reason: reason))
        mirror.start()
        store[token] = "secret"
        mirror.uploadExisting()
        store[Keys.text] = "hello"
        await wait(for: "hello", of: "text", in: cloud)
        #expect(cloud.values["mirroredToken"] == nil)
        mirror.stop()
    }

    @Test("A read-only store is not mirrored, and reports that")
    func readOnly() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .xml).write(to: file)
        let store = try ObservableStore(at: file, access: .readOnly)
        var failures = store.failures.makeAsyncIterator()
        let cloud = InMemoryCloud(["count": CloudEnvelope(2, at: 5).entry])
        let mirror = CloudMirror(store, keys: Keys.count, remote: cloud.makeRemote())
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        #expect(await failures.next() == .readOnly(file: store.name))
        await mirror.settle()
        #expect(store[Keys.count] == 1)
        try await store.close()
    }

    @Test("Pushes wait for seconds after the last begin of a download")
    func repeatedDownload() async throws {
        let (store, cloud) = (try store(), InMemoryCloud())
        let delays = Recorder<(DispatchTimeInterval, @Sendable () -> Void)>()
        let mirror = CloudMirror(store, [Keys.count], cloud.makeRemote(), afterDelay: { delays.record(($0, $1)) })
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        // It may read the first value later than it is set.
        await mirror.settle()
        for _ in 1...2 { cloud.replaceValues([:], because: .initialSync) }
        store[Keys.count] = 1
        await mirror.settle()
        let recorded = delays.elements
        try #require(recorded.count == 2)
        #expect(recorded.map(\.0) == [.milliseconds(2000), .milliseconds(4000)])
        recorded[0].1()
        await mirror.settle()
        #expect(cloud.values.isEmpty)
        recorded[1].1()
        await wait(for: 1, of: "count", in: cloud)
    }

    @Test("An edit has the time when it was made, however late the mirror comes to it")
    func timeOfEdit() async throws {
        let (store, cloud) = (try store(), InMemoryCloud())
        let now = Lock<Int64>(10)
        let mirror = CloudMirror(store, [Keys.count], cloud.makeRemote(), clock: { now.withLock { $0 } })
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await mirror.settle()
        let gate = DispatchSemaphore(value: 0)
        mirror.executor.queue.async { gate.wait() }
        store[Keys.count] = 1
        now.withLock { $0 = 1000 }
        gate.signal()
        await mirror.settle()
        #expect(cloud.values == ["count": CloudEnvelope(1, at: 10).entry])
    }

    @Test("An edit beside the time of an earlier value, which another mirror of the file knows, is pushed as a later one")
    func timeOfEarlierValue() async throws {
        let backend = InMemoryBackend()
        let cloud = InMemoryCloud()
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        let mirror = CloudMirror(store, [Keys.count], cloud.makeRemote(), clock: { 10 })
        defer { withExtendedLifetime(mirror) {} }
        mirror.start()
        await mirror.settle()
        try await other.update { transaction in
            transaction[Keys.count] = 2
            let time = StorageKey<PropertyListValue?>(CloudStamp.entryName(of: "count"))
            transaction[time] = CloudStamp(50, isPushed: true).entry(beside: 1)
        }
        await wait(for: 2, of: "count", in: cloud)
        #expect(cloud.values == ["count": CloudEnvelope(2, at: 51).entry])
    }

    @Test("Two mirrors of two stores on one file push each edit, and settle")
    func sameFile() async throws {
        let backend = InMemoryBackend()
        let cloud = InMemoryCloud()
        let stores = [try ObservableStore(backend: backend), try ObservableStore(backend: backend)]
        let mirrors = stores.map { CloudMirror($0, keys: Keys.count, remote: cloud.makeRemote()) }
        defer { withExtendedLifetime(mirrors) {} }
        for mirror in mirrors { mirror.start() }
        stores[0][Keys.count] = 1
        await wait(for: 1, of: Keys.count, in: stores[1])
        // Otherwise it may be written to the storage after the second edit, which came by the cloud before.
        try await stores[0].flush()
        stores[1][Keys.count] = 2
        await wait(for: 2, of: Keys.count, in: stores[0])
        await wait(for: 2, of: "count", in: cloud)
        for mirror in mirrors { await mirror.settle() }
    }

    @Test("A pulled value is not written over an edit of another process of which the store does not know yet, which is pushed")
    func pullOverUnknownEdit() async throws {
        let backend = ServiceBackend(["count": 1])
        backend.withholdEvents()
        backend.hold(.beforeEdit)
        let store = try await ObservableStore.open(backend)
        let cloud = InMemoryCloud()
        cloud.makeRemote().set(CloudEnvelope(2, at: 10).entry, forKey: "count")
        let mirror = CloudMirror(store, [Keys.count], cloud.makeRemote(), clock: { 50 })
        mirror.start()
        await wait(for: 2, of: Keys.count, in: store)
        _ = try backend.memory.edit { $0["count"] = 3 }
        backend.release(.beforeEdit)
        await wait(for: 3, of: Keys.count, in: store)
        await wait(for: 3, of: "count", in: cloud)
        #expect(cloud.values == ["count": CloudEnvelope(3, at: 50).entry])
        await mirror.settle()
    }
}

/// A remote that calls a closure once, after its values were read, and another one whenever it is synchronized.
private final class HookedRemote: CloudRemote {
    private let remote: any CloudRemote
    private let hook: Lock<(@Sendable () -> Void)?>
    private let onSynchronize: @Sendable () -> Void

    init(
        _ remote: any CloudRemote, afterReading hook: @escaping @Sendable () -> Void = {},
        onSynchronize: @escaping @Sendable () -> Void = {}
    ) {
        self.remote = remote
        self.onSynchronize = onSynchronize
        self.hook = Lock(hook)
    }

    func values() -> [String: PropertyListValue?] {
        let values = remote.values()
        let hook = hook.withLock { $0.take() }
        hook?()
        return values
    }

    func set(_ value: PropertyListValue, forKey name: String) { remote.set(value, forKey: name) }
    func synchronize() {
        remote.synchronize()
        onSynchronize()
    }
    func observe(_ onChange: @escaping @Sendable (CloudChange) -> Void) -> ObservationToken { remote.observe(onChange) }
}

extension CloudMirror {
    /// Returns after everything that the mirror was notified of has been done.
    fileprivate nonisolated func settle() async {
        // A call of an empty method of the actor could be optimized away.
        await withCheckedContinuation { continuation in
            executor.queue.async { continuation.resume() }
        }
    }
}
