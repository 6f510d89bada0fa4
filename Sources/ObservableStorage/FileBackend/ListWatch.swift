import Dispatch

/// The watchers of a list and of its journal, which do not report what the store that watches them writes.
final class ListWatch: Sendable {
    // The first watcher is nil before the watch has started, and set before its first event; all is nil after the watch was cancelled.
    private let state: Lock<(list: FileWatcher?, target: ResolvedPath?, journal: FileWatcher?)?> = Lock((nil, nil, nil))

    /// The watcher of the list; nil before it has started.
    var watcher: FileWatcher? { state.withLock { $0?.list } }

    /// The watcher of the present journal; nil before it has started.
    var journalWatcher: FileWatcher? { state.withLock { $0?.journal } }

    /// Whether the watch has neither started nor was cancelled.
    var isWaiting: Bool { state.withLock { $0.map { $0.list == nil } ?? false } }

    /// Starts a watcher of the list, unless this watch was cancelled.
    func start(_ watcher: FileWatcher) {
        let isLate = state.withLock { state in
            state?.list = watcher
            return state == nil
        }
        if !isLate { watcher.session.start() }
    }

    /// Watches the journal of a list instead of another one, also while the file is missing.
    func followJournal(
        of target: ResolvedPath?, on queue: DispatchQueue,
        _ receive: @escaping @Sendable (_ event: FileWatcher.Event, _ list: ResolvedPath) -> Void
    ) {
        guard state.withLock({ $0 != nil && $0?.target != target }) else { return }
        // Each write to a journal is complete: changes are reported without waiting for its writers.
        let watcher = target.map { target in
            let options = FileWatcherOptions(service: .systemForRenamedFiles, quiet: .zero)
            return FileWatcher(path: target.journal.path, queue: queue, options: options) { receive($0, target) }
        }
        let replaced = state.take { state in
            guard let known = state else { return watcher }
            state = (known.list, target, watcher)
            return known.journal
        }
        replaced?.cancel()
    }

    func cancel() {
        let ended = state.exchange(nil)
        ended?.list?.cancel()
        ended?.journal?.cancel()
    }
}
