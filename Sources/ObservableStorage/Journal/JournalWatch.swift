import Dispatch

/// Watches a journal, also while the file is missing.
final class JournalWatch: Sendable {
    private let queue: DispatchQueue
    private let report: @Sendable (_ list: ResolvedPath) -> Void
    // Nil after it was cancelled.
    private let watched: Lock<(list: ResolvedPath?, watcher: FileWatcher?)?> = Lock((nil, nil))

    init(on queue: DispatchQueue, _ report: @escaping @Sendable (_ list: ResolvedPath) -> Void) {
        (self.queue, self.report) = (queue, report)
    }

    /// Watches the journal of a list instead of another one.
    func follow(_ list: ResolvedPath?) {
        guard watched.withLock({ $0 != nil && $0?.list != list }) else { return }
        // Each write to a journal is complete: changes are reported without waiting for its writers.
        let watcher = list.map { list in
            let options = FileWatcherOptions(service: .systemForRenamedFiles, quiet: .zero)
            return FileWatcher(path: list.journal.path, queue: queue, options: options) { [report] event in
                // A failure to watch the journal also affects the list, for which it is reported.
                if event == .changed { report(list) }
            }
        }
        let replaced = watched.take { watched in
            guard watched != nil else { return watcher }
            defer { watched = (list, watcher) }
            return watched?.watcher
        }
        replaced?.cancel()
    }

    /// The watcher of the present journal.
    var watcher: FileWatcher? { watched.withLock { $0?.watcher } }

    func cancel() {
        watched.take { $0.take() }?.watcher?.cancel()
    }
}
