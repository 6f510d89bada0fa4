import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Ways to exit, each with an unwritten edit.
struct Exit {
    let path: String

    private static let count = StorageKey("count", default: 0)
    // Handlers of `atexit` cannot capture.
    private static let late = Lock<ObservableStore?>(nil)

    private struct UnknownRequest: Error {}

    func run(_ way: String) async throws {
        switch way {
        case "late": try setLate()
        case "late-inside": try await setLateInside()
        case "nested": try await exitInside(JSONFileBackend(at: URL(fileURLWithPath: path)))
        case "stuck": try setAndExit(StuckBackend())
        case "observed": try setAndExit(StuckBackend(), isObserved: true)
        case "fork": try await fork(opensAgain: false)
        case "fork-opened": try await fork(opensAgain: true)
        case "released": try release()
        case "going": try endWhileGoing()
        case "suspended": try await exitSuspended(late: false)
        case "suspended-late": try await exitSuspended(late: true)
        default: throw UnknownRequest()
        }
    }

    /// Sets a value twice in an `atexit` handler registered before that of the first store, which therefore runs after it.
    private func setLate() throws {
        atexit {
            for count in 4...5 { Exit.late.withLock { $0 }?[Exit.count] = count }
        }
        let store = try ObservableStore(at: URL(fileURLWithPath: path), journal: .off)
        Self.late.withLock { $0 = store }
        exit(0)
    }

    /// Exits inside a transaction, beside an edit whose write waits for it, and sets a value in a handler of `atexit`.
    private func setLateInside() async throws {
        atexit { Exit.late.withLock { $0 }?[Exit.count] = 5 }
        let store = try ObservableStore(at: URL(fileURLWithPath: path), journal: .off)
        Self.late.withLock { $0 = store }
        try await store.update { _ in
            store[Self.count] = 4
            exit(0)
        }
    }

    /// Exits with two suspended stores, and sets a value before or in a handler of `atexit`.
    private func exitSuspended(late: Bool) async throws {
        if late { atexit { Exit.late.withLock { $0 }?[Exit.count] = 5 } }
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        let other = try ObservableStore(at: URL(fileURLWithPath: path))
        for store in [store, other] { await store.suspend() }
        print(store.isSuspended, other.isSuspended)
        if late { Self.late.withLock { $0 = other } } else { store[Self.count] = 5 }
        exit(0)
    }

    /// Exits inside a transaction of a backend in which an edit waits for the previous one.
    private func exitInside(_ backend: some BlockingStorageBackend) async throws {
        ObservableStore.exitTimeout = .milliseconds(100)
        let store = try ObservableStore(backend: backend)
        try await store.update { _ in
            store[Self.count] = 5
            exit(0)
        }
    }

    /// Exits during a write that does not return.
    private func setAndExit(_ backend: StuckBackend, isObserved: Bool = false) throws {
        ObservableStore.exitTimeout = .milliseconds(100)
        let store = try ObservableStore(backend: backend)
        if isObserved { Task { [failures = store.failures] in for await _ in failures {} } }
        store[Self.count] = 5
        backend.entered.wait()
        exit(0)
    }

    /// Forks a child that sets a value, makes each call that would write it or wait and exits normally, and prints how all of that ended.
    ///
    /// On the main thread, which no other one can continue in the child.
    ///
    /// - Parameter opensAgain: whether the child opens a store of its own.
    @MainActor private func fork(opensAgain: Bool) async throws {
        // Longer than the child's time limit: an endless wait must be detected.
        ObservableStore.exitTimeout = .seconds(3600)
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        // Its log of edits exists afterwards.
        for count in [2, 1] { store[Self.count] = count }
        try await store.flush()
        weak var captured: ObservationToken?
        var released: Presence? = {
            let token = ObservationToken {}
            captured = token
            return Presence {
                try await Task.sleep(for: .seconds(3600))
                withExtendedLifetime(token) {}
            }
        }()
        let presence = try await ObservableStore(backend: InMemoryBackend()).presence("worker", 1)
        guard let symbol = dlsym(nil, "fork") else { throw UnknownRequest() }
        try waitForOtherThreads()
        let child = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)()
        if child == 0 {
            // The threads of Dispatch block signals.
            var signals = sigset_t()
            sigemptyset(&signals)
            pthread_sigmask(SIG_SETMASK, &signals, nil)
            alarm(60)
            let own = opensAgain ? try ObservableStore(at: URL(fileURLWithPath: path)) : store
            own[Self.count] = 6
            flush(own)
            await report { try await own.flush() }
            await report { try await own.update { $0[Self.count] = 8 } }
            await report { try await own.close(discardingEdits: true) }
            await report { try await own.reload() }
            await report { _ = try await own.presence("worker", 1) }
            await report { try await own.importEntries(from: InMemoryBackend(["count": 9]), once: "old") }
            await report { try await SceneStore(sceneID: "1", base: own).importEntries(from: InMemoryBackend(["count": 9]), once: "old") }
            await report { _ = try await own.changes(since: StorageRevision(history: "1", number: 1)) }
            await report { _ = try await own.changes(of: Self.count, since: StorageRevision(history: "1", number: 1)) }
            await report { try await own.run() }
            await report { _ = try await ObservableStore.open(PropertyListFile(at: URL(fileURLWithPath: path))) }
            await own.suspend()
            await report { try await presence.end() }
            released = nil
            if captured != nil { print("a presence was ended") }
            exit(7)
        }
        withExtendedLifetime(released) {}
        var status: Int32 = 0
        waitpid(child, &status, 0)
        print("child: \(status & 0x7F == 0 ? "\(status >> 8 & 0xFF)" : "ended by signal \(status & 0x7F)")")
    }

    @MainActor private func report(_ call: @MainActor () async throws -> Void) async {
        do {
            try await call()
        } catch {
            print(error)
        }
    }

    private func flush(_ store: ObservableStore) {
        do throws(StorageError) {
            try store.flushNow(timeout: .seconds(3600))
        } catch {
            print(error)
        }
    }

    /// Waits until all other threads sleep: a runtime lock that one of them holds at a fork stays locked in the child forever.
    private func waitForOtherThreads() throws {
        let tasks = "/proc/self/task"
        guard FileManager.default.fileExists(atPath: tasks) else { return }
        var quiet = 0
        while quiet < 10 {
            let awake = try FileManager.default.contentsOfDirectory(atPath: tasks).filter { task in
                // The state follows the name, which is in parentheses.
                let status = (try? String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)) ?? ""
                return status.split(separator: ")").last?.hasPrefix(" S") == false
            }
            quiet = awake.count <= 1 ? quiet + 1 : 0
            sched_yield()
        }
    }

    /// Releases a store that cannot write, and exits.
    private func release() throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        store[Self.count] = 5
    }
}

extension Exit {
    /// Exits while a store is being released on another thread, with an edit that could not be written before.
    private func endWhileGoing() throws {
        let backend = GoingBackend(PropertyListFile(at: URL(fileURLWithPath: path)))
        Thread.detachNewThread {
            do {
                var store: ObservableStore? = try ObservableStore(backend: backend)
                store?[Self.count] = 5
                backend.failed.wait()
                backend.drain()
                store = nil
            } catch {
                fatalError("\(error)")
            }
        }
        backend.isGoing.wait()
    }
}

/// A backend whose first edit fails, and whose watch does not end.
private final class GoingBackend: BlockingStorageBackend {
    private static let isOnQueue = DispatchSpecificKey<Bool>()

    private let file: PropertyListFile
    private let queue = Lock<DispatchQueue?>(nil)
    private let edits = Lock(0)
    let failed = DispatchSemaphore(value: 0)
    let isGoing = DispatchSemaphore(value: 0)

    var name: String { file.name }

    init(_ file: PropertyListFile) {
        self.file = file
    }

    func load() throws -> StorageEntries { try file.load() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let number = edits.withLock { edits in
            edits += 1
            return edits
        }
        guard number == 1 else { return try file.edit(body) }
        defer { failed.signal() }
        throw StorageError.unwritable(file: name, reason: "not now", edits: .kept)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        queue.setSpecific(key: Self.isOnQueue, value: true)
        self.queue.withLock { $0 = queue }
        return ObservationToken { [isGoing] in
            isGoing.signal()
            // If the store's own attempt was the last to retain it, its queue is needed for the last write.
            if DispatchQueue.getSpecific(key: Self.isOnQueue) == nil { DispatchSemaphore(value: 0).wait() }
        }
    }

    /// Returns when no work on the queue retains the store.
    func drain() {
        queue.withLock { $0 }?.sync {}
    }
}

/// A backend whose edits do not return.
private struct StuckBackend: BlockingStorageBackend {
    let name = "stuck"
    let entered = DispatchSemaphore(value: 0)

    func load() -> StorageEntries { StorageEntries() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        entered.signal()
        DispatchSemaphore(value: 0).wait()
        return StorageEntries()
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        ObservationToken {}
    }
}
