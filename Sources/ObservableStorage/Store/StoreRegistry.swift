import Dispatch
import Foundation
import Synchronization

/// The stores of this process, whose pending edits are written at the end of the process.
final class StoreRegistry: Sendable {
    /// How long the end of the process waits for pending edits.
    static let exitTimeout = Lock(Duration.seconds(2))

    private static let hasEnded = Atomic(false)

    // Without references to the stores: one that is being deinitialized has edits to write, and cannot be retained any more. The deadline
    // of all writes at the end of the process; nil before it has begun.
    private let state = Lock<(stores: [ObjectIdentifier: LastWrite], deadline: DispatchTime?)>(([:], nil))
    /// The last writes of released stores.
    private let lastWrites = DispatchGroup()
    // Dispatch does not survive a fork: the child has none of the queues' threads, and its pending edits are those of the parent.
    private let process = getpid()

    /// The stores of the process; first use registers their last writes with `atexit`.
    static let all: StoreRegistry = {
        atexit { StoreRegistry.all.finish() }
        return StoreRegistry()
    }()

    /// Whether the process is exiting, so that values set now, by another handler of `atexit`, have to be written immediately.
    static var isEnding: Bool {
        hasEnded.load(ordering: .acquiring)
    }

    /// Whether this is a forked child of the process, which writes nothing.
    var isForkedChild: Bool {
        getpid() != process
    }

    func add(_ store: ObjectIdentifier, _ lastWrite: LastWrite) {
        state.withLock { $0.stores[store] = lastWrite }
    }

    func remove(_ store: ObjectIdentifier) {
        state.take { $0.stores.removeValue(forKey: store) }
    }

    /// Makes the last write of a released store, on its queue; the end of the process waits for it.
    func write(on queue: DispatchQueue, _ lastWrite: @escaping @Sendable () -> Void) {
        queue.async(group: lastWrites, execute: lastWrite)
    }

    /// Writes the pending edits of stores, within the time limit of the end of the process.
    func writeAtEnd(_ stores: [LastWrite]) {
        let deadline = state.withLock { $0.deadline } ?? .now()
        let group = DispatchGroup()
        for store in stores { store.makeBeforeExit(group) }
        let isWritten = group.wait(timeout: deadline) == .success && lastWrites.wait(timeout: deadline) == .success
        if !isWritten { stores.forEach { $0.reportUnwritten() } }
    }

    private func finish() {
        guard !isForkedChild else { return }
        let timeout = Self.exitTimeout.withLock { $0 }
        let stores = state.withLock { state in
            state.deadline = .now() + .nanoseconds(timeout.wholeNanoseconds)
            return Array(state.stores.values)
        }
        Self.hasEnded.store(true, ordering: .releasing)
        writeAtEnd(stores)
        FailureReports.logAllUndelivered()
    }
}

/// The last write of a store, made at the end of the process or when the store is released: its pending edits are passed to the backend,
/// and observers are no longer notified.
struct LastWrite: Sendable {
    let cache: EntryCache
    let backend: any StorageBackend
    let reports: FailureReports
    let executor: DispatchQueueExecutor

    /// Writes the pending edits for a process that is about to exit, and leaves the group afterwards.
    func makeBeforeExit(_ group: DispatchGroup) {
        if !executor.isCurrent {
            executor.queue.async(group: group) { make() }
        } else if backend.allowsNestedEdits {
            // The process exits inside an edit of this store.
            make()
        } else {
            DispatchQueue.global().async(group: group) { make() }
        }
    }

    /// Reports the edits for which the end of the process could not wait.
    func reportUnwritten() {
        let keys = cache.update { $0.entries.pending.keys.sorted() }
        guard !keys.isEmpty else { return }
        reports.report(.unwritable(file: backend.name, reason: "the process ended before it was done", edits: .lost(keys: keys)))
    }

    /// Writes the pending edits; reports those that cannot be written.
    func make() {
        var edits = cache.update { $0.entries.pending }
        while !edits.isEmpty {
            do {
                let counting = edits
                _ = try backend.edit { entries in
                    let found = entries
                    for (key, edit) in counting where edit.counts(over: { found[$0] }) { entries[key] = edit.value }
                }
                return cache.update { $0.noteStored(counting) }
            } catch StorageError.unencodable(let key, let reason) where edits[key] != nil {
                // An edit that cannot be stored prevents no other edit from being stored, except those made with it.
                reports.report(.unencodable(key: key, reason: reason))
                let refused = edits[key]
                edits = edits.filter { refused?.takes(along: $0.value, of: key, $0.key) != true }
            } catch {
                return reports.report(StorageError.writing(backend.name, error).with(.lost(keys: edits.keys.sorted())))
            }
        }
    }
}
