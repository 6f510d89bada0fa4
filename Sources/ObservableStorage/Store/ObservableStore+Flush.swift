import Dispatch

extension ObservableStore {
    /// Writes everything that is still in memory only, and returns when it is on disk.
    ///
    /// - Throws: ``StorageError`` naming the file; the edits stay in memory and are tried again.
    public func flush() throws(StorageError) {
        try writeEdits()
    }

    /// Writes what is in memory only, ends every stream, and stops watching. Later edits are refused.
    ///
    /// - Throws: ``StorageError`` when the edits cannot be written; the store stays open then and nothing is lost.
    public func close() throws(StorageError) {
        memory.update { $0.setClosed(true) }
        do {
            try writeEdits()
        } catch {
            memory.update { $0.setClosed(false) }
            throw error
        }
        stopWatching()
        finishObservations()
    }

    /// Errors that no caller is there to catch: failed write-behind, property setters, a file that stays bad, a fallback to polling.
    ///
    /// A stream of its own for each call, until the store is closed or goes. It begins with what nobody has heard yet.
    public nonisolated var failures: AsyncStream<StorageError> {
        reports.stream
    }

    /// Writes the pending edits as soon as the queue comes to it; keeps the store alive until then.
    nonisolated func scheduleFlush(after delay: DispatchTimeInterval = .nanoseconds(0)) {
        let work: @Sendable () -> Void = { self.assumeIsolated { $0.writeEditsBehind() } }
        if delay == .nanoseconds(0) {
            executor.queue.async(execute: work)
        } else {
            executor.queue.asyncAfter(deadline: .now() + delay, execute: work)
        }
    }

    /// Writes the pending edits for the process that is about to end, on the queue, and leaves the group when done.
    nonisolated func flushBeforeExit(_ group: DispatchGroup) {
        if executor.isCurrent {
            assumeIsolated { $0.writeEditsBehind() }
        } else {
            executor.queue.async(group: group) { self.assumeIsolated { $0.writeEditsBehind() } }
        }
    }

    private func writeEditsBehind() {
        memory.update { $0.beginScheduledFlush() }
        do {
            try writeEdits()
        } catch {
            // It has been reported. One attempt is timed at most, however many calls fail meanwhile.
            if memory.update({ $0.needsFlushScheduled() }) { scheduleFlush(after: flushBackoff.fail()) }
        }
    }

    private func writeEdits() throws(StorageError) {
        guard memory.update({ $0.hasPending }) else { return }
        do {
            try commit(.local) { _ in }
        } catch {
            let failure = StorageError.writing(backend.name, error)
            reports.report(failure)
            throw failure
        }
    }
}
