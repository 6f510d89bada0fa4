import Dispatch
import Foundation
import Synchronization

/// The stores of this process, and what the end of the process does with what they have not written yet.
final class StoreRegistry: Sendable {
    /// How long the end of the process waits for what is not written yet.
    static let exitTimeout = Lock(Duration.seconds(2))

    private static let hasEnded = Atomic(false)

    // Without the stores themselves: one that is going already has still to be written, and can't be kept any more. And when the process
    // ends whatever is written by then; nil before its end has begun.
    private let state = Lock<(stores: [ObjectIdentifier: LastWrite], deadline: DispatchTime?)>(([:], nil))
    /// The last writes of stores that have gone.
    private let lastWrites = DispatchGroup()
    // Dispatch does not survive a fork: the child has none of the queues' threads, and its edits are those of the parent.
    private let process = getpid()

    /// The stores of the process; the first use registers their last writes with `atexit`.
    static let all: StoreRegistry = {
        atexit { StoreRegistry.all.finish() }
        return StoreRegistry()
    }()

    /// Whether the process ends, so that what is set now, by another handler of `atexit`, has to be written at once.
    static var isEnding: Bool {
        hasEnded.load(ordering: .acquiring)
    }

    /// Whether this is a child that the process has forked, which writes nothing.
    var isForkedChild: Bool {
        getpid() != process
    }

    func add(_ store: ObjectIdentifier, _ lastWrite: LastWrite) {
        state.withLock { $0.stores[store] = lastWrite }
    }

    func remove(_ store: ObjectIdentifier) {
        state.take { $0.stores.removeValue(forKey: store) }
    }

    /// Does the last write of a store that has gone, on its queue; the end of the process waits for it.
    func write(on queue: DispatchQueue, _ lastWrite: @escaping @Sendable () -> Void) {
        queue.async(group: lastWrites, execute: lastWrite)
    }

    /// Writes what a store has in memory only, for as long as the end of the process may take.
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

/// The last write of a store, which the end of the process makes, or the store when it goes: what it has in memory only goes to the backend,
/// and nobody is told of changes any more.
struct LastWrite: Sendable {
    let cache: EntryCache
    let backend: any StorageBackend
    let reports: FailureReports
    let executor: DispatchQueueExecutor

    /// Writes the pending edits for the process that is about to end, and leaves the group when done.
    func makeBeforeExit(_ group: DispatchGroup) {
        if !executor.isCurrent {
            executor.queue.async(group: group) { make() }
        } else if backend.allowsNestedEdits {
            // The process ends inside an edit of this very store.
            make()
        } else {
            DispatchQueue.global().async(group: group) { make() }
        }
    }

    /// Reports what the end of the process could not wait for.
    func reportUnwritten() {
        let keys = cache.update { $0.entries.pending.keys.sorted() }
        guard !keys.isEmpty else { return }
        reports.report(.unwritable(file: backend.name, reason: "the process ended before it was done", edits: .lost(keys: keys)))
    }

    /// Writes the pending edits; reports what cannot be written.
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
                // What cannot be stored keeps no other edit from being stored, but those that were made with it.
                reports.report(.unencodable(key: key, reason: reason))
                let refused = edits[key]
                edits = edits.filter { refused?.takes(along: $0.value, of: key, $0.key) != true }
            } catch {
                return reports.report(StorageError.writing(backend.name, error).with(.lost(keys: edits.keys.sorted())))
            }
        }
    }
}
