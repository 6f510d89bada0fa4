import Dispatch

/// Watches a journal, also while there is none.
final class JournalWatch: Sendable {
    private let queue: DispatchQueue
    private let report: @Sendable () -> Void
    // Nil after it was cancelled.
    private let watched: Lock<(path: String?, watcher: FileWatcher?)?> = Lock((nil, nil))

    init(on queue: DispatchQueue, _ report: @escaping @Sendable () -> Void) {
        (self.queue, self.report) = (queue, report)
    }

    /// Watches a path instead of another one.
    func follow(_ path: String?) {
        guard watched.withLock({ $0 != nil && $0?.path != path }) else { return }
        // What is written to a journal is complete, whoever has it open.
        let watcher = path.map { path in
            FileWatcher(path: path, queue: queue, options: FileWatcherOptions(quiet: .zero)) { [report] event in
                // What prevents the list from being watched prevents this as well, and is reported for the list.
                if event == .changed { report() }
            }
        }
        let replaced = watched.take { watched in
            guard watched != nil else { return watcher }
            defer { watched = (path, watcher) }
            return watched?.watcher
        }
        replaced?.cancel()
    }

    func cancel() {
        watched.take { $0.take() }?.watcher?.cancel()
    }
}
