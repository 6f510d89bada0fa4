import Dispatch
import Foundation
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Hostile use", .timeLimit(.minutes(10)))
struct HostileUseTests {
    // Serialized, because each keeps a processor busy until its store is closed.
    @Test("Closing finishes although another task keeps writing", .serialized, arguments: Fixture.allCases)
    func closeWhileWriting(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let lastWritten = Recorder<Int>()
        // A separate thread: the tests' pool has few, and this one never waits.
        Thread.detachNewThread {
            var written = 0
            do {
                while true {
                    try store.set(written + 1, for: Keys.count)
                    written += 1
                }
            } catch {
                lastWritten.record(written)
            }
        }
        for await count in store.values(of: Keys.count) where count > 100 { break }
        try await store.close()
        #expect(try await lastWritten.elements(count: 1) == [store[Keys.count]])
    }

    @Test("A closed store no longer follows its file")
    func closedStoreIsDeaf() async throws {
        let backend = HookedBackend()
        let store = try ObservableStore(backend: backend)
        try await store.close()
        _ = try backend.memory.edit { $0["count"] = 9 }
        backend.report(.changed)
        // The queue is serial: after this, all earlier events have been handled.
        try await store.flush()
        #expect(store[Keys.count] == 0)
        #expect(backend.loads == 1)
    }

    @Test("A closed store no longer reads its layers, not those either that could not be read before")
    func closedStoreReadsNoLayers() async throws {
        let layer = HookedBackend()
        let store = try ObservableStore(backend: InMemoryBackend(), defaults: [layer])
        let changes = store.changes(of: Keys.count)
        // Watching begins on the store's queue.
        try await store.flush()
        layer.turnBad(true)
        layer.report(.changed)
        #expect(layer.loads == 2)
        try await store.close()
        layer.report(.changed)
        #expect(layer.loads == 2)
        for await _ in changes {}
    }

    @Test("Failures in a closed store are kept for an observer")
    func failuresAfterClose() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        try await store.close()
        store[Keys.count] = 1
        store.remove(Keys.count)
        var heard: [StorageError] = []
        for await failure in store.failures { heard.append(failure) }
        #expect(heard == [.closed, .closed])
    }

    @Test("Many events of an invalid file within a moment do not count as a file that stays invalid")
    func burstOfReports() async throws {
        let backend = HookedBackend()
        let store = try ObservableStore(backend: backend)
        let failures = store.failures
        let loads = await store.perform {
            backend.turnBad(true)
            for _ in 0..<100 { backend.report(.changed) }
            defer { backend.turnBad(false) }
            return backend.loads
        }
        #expect(loads == 101)
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
    }

    @Test("An event that a backend sends during its own edit makes no local change external")
    func reportInsideEdit() async throws {
        let backend = HookedBackend()
        backend.reportInsideEdits()
        let store = try ObservableStore(backend: backend)
        let changes = store.changes(of: Keys.count)
        try await store.update { $0[Keys.count] = 1 }
        store[Keys.count] = 2
        try await store.flush()
        try await store.close()
        var origins: [ChangeOrigin] = []
        for await change in changes { origins.append(change.origin) }
        #expect(origins == [.local, .local])
    }

    @Test("On a concurrent queue, a listener still receives one change after the other")
    func concurrentQueue() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let seen = Recorder<Int>()
        let inside = Lock(0)
        let overlaps = Lock(0)
        let token = store.addUpdateListener(for: Keys.count, on: .global()) { change in
            if inside.withLock({
                $0 += 1; return $0
            }) > 1 {
                overlaps.withLock { $0 += 1 }
            }
            seen.record(change.newValue)
            inside.withLock { $0 -= 1 }
        }
        for number in 1...2_000 { store[Keys.count] = number }
        #expect(try await seen.elements(count: 2_000) == Array(1...2_000))
        #expect(overlaps.withLock { $0 } == 0)
        withExtendedLifetime(token) {}
    }

    @Test("A value moved out of a lock and not used is released after unlocking")
    func takenFromLock() {
        final class Probe: Sendable {
            let released: @Sendable () -> Void
            init(_ released: @escaping @Sendable () -> Void) { self.released = released }
            deinit { released() }
        }
        final class Owner: Sendable {
            let guarded = Lock<Probe?>(nil)
            let seen = Recorder<Bool>()
        }
        let owner = Owner()
        // Locking again while the lock is held ends the process.
        owner.guarded.withLock {
            $0 = Probe { [weak owner] in
                owner?.guarded.withLock { _ in }; owner?.seen.record(true)
            }
        }
        owner.guarded.take { $0.take() }
        #expect(owner.seen.elements == [true])
    }

    @Test("A value whose deinitializer calls the store is released outside all locks")
    func deallocator() async throws {
        await #expect(processExitsWith: .success) {
            let store = try ObservableStore(backend: HookedBackend())
            let key = StorageKey<Data?>("data")
            let released = Recorder<UInt64>()
            for _ in 0..<2 {
                store[key] = Data(
                    bytesNoCopy: .allocate(byteCount: 1_000, alignment: 8), count: 1_000,
                    deallocator: .custom { bytes, _ in
                        bytes.deallocate()
                        released.record(store.revision)
                    })
                store[key] = nil
                try await store.flush()
            }
            _ = try await released.elements(count: 2)
        }
    }

    @Test("So is one inside a dictionary that nobody observes, which an edit or a snapshot drops from the values before")
    func deallocatorInside() async throws {
        await #expect(processExitsWith: .success) {
            let store = try ObservableStore(backend: HookedBackend())
            // A write has the values, too.
            await store.suspend()
            let key = StorageKey<Data?>("d", "data")
            let released = Recorder<UInt64>()
            for takesSnapshots in [false, true] {
                for _ in 0..<4 {
                    store[key] = Data(
                        bytesNoCopy: .allocate(byteCount: 1_000, alignment: 8), count: 1_000,
                        deallocator: .custom { bytes, _ in
                            bytes.deallocate()
                            released.record(store.revision)
                        })
                    if takesSnapshots { _ = store.snapshot }
                }
                store[key] = nil
            }
            _ = store.snapshot
            #expect(released.elements.count == 8)
        }
    }

    @Test("Writing is as fast as without observers after the last stream of all changes has ended")
    func endedObserversOfAll() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        #expect(!store.cache.isObserved)
        do {
            let changes = store.allChanges()
            #expect(store.cache.isObserved)
            store[Keys.count] = 1
            for await _ in changes { break }
        }
        #expect(!store.cache.isObserved)
    }

    @Test("A stream of a publisher that was released ends")
    func releasedPublisher() async {
        for await element in ChangePublisher<Int>().stream() { Issue.record("\(element)") }
    }

    @Test("A flush is scheduled once until it begins, and edits stay pending until they are stored")
    func flushState() throws {
        var state = EntryCacheState(entries: [:], store: 1)
        var scheduled = [state.needsFlushScheduled()]
        _ = try state.edit(["a": .some(1)])
        for _ in 0..<2 { scheduled.append(state.needsFlushScheduled()) }
        #expect(scheduled == [false, true, false])
        _ = state.flushes.beginQueued()
        let written = state.entries.pending
        _ = try state.edit(["b": .some(2)])
        _ = try state.edit(["a": .some(3)])
        state.markWritten(written)
        #expect(state.entries.pending.mapValues(\.value) == ["a": 3, "b": 2])
        let merged = state.merge(["a": .some(9), "c": .some(4)], origin: .external)
        #expect(merged.map(\.key) == ["c"])
        state.markWritten(state.entries.pending)
        #expect(state.entries.pending.isEmpty)
        #expect(state.entries.values == ["a": 3, "b": 2, "c": 4])
    }
}

extension ObservableStore {
    /// Runs a closure on the store's queue, so that no scheduled work runs in between.
    fileprivate func perform<Result: Sendable>(_ body: @Sendable () -> Result) -> Result {
        body()
    }
}

extension EntryCache {
    /// Whether anybody observes an entry.
    var isObserved: Bool {
        update { $0.postsAllChanges || $0.entries.touched.contains { !$0.content.observers.isEmpty } }
    }
}
