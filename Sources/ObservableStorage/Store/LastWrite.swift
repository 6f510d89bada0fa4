import Dispatch

/// The last write of a store, which the end of the process makes, or the store when it goes: what it has in memory only goes to the backend,
/// and nobody is told of changes any more.
struct LastWrite: Sendable {
    let memory: Memory
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
        let keys = memory.update { $0.entries.pending.keys.sorted() }
        guard !keys.isEmpty else { return }
        reports.report(.unwritable(file: backend.name, reason: "the process ended before it was done", edits: .lost(keys: keys)))
    }

    /// Writes the pending edits; reports what cannot be written.
    func make() {
        var edits = memory.update { $0.entries.pending }
        while !edits.isEmpty {
            do {
                let counting = edits
                _ = try backend.edit { entries in
                    let found = entries
                    for (key, edit) in counting where edit.counts(over: { found[$0] }) { entries[key] = edit.value }
                }
                return memory.update { $0.noteStored(counting) }
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
