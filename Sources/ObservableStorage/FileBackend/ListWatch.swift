import Dispatch
import PropertyListCoding

/// The watchers of a list and of its journal, which are not told of what the store that watches them writes.
final class ListWatch: Sendable {
    private enum State {
        case waiting
        case watching(FileWatcher, JournalWatch)
        case cancelled
    }

    private let state = Lock(State.waiting)

    /// Begins with watchers, which are cancelled if this watch was.
    func start(_ watcher: FileWatcher, _ journal: JournalWatch) {
        let isLate = state.withLock { state in
            if case .cancelled = state { return true }
            state = .watching(watcher, journal)
            return false
        }
        guard isLate else { return }
        watcher.cancel()
        journal.cancel()
    }

    func cancel() {
        guard case .watching(let watcher, let journal) = state.exchange(.cancelled) else { return }
        watcher.cancel()
        journal.cancel()
    }

    var isWaiting: Bool {
        state.withLock { if case .waiting = $0 { true } else { false } }
    }

    var isStarted: Bool { watchers != nil }

    /// The watchers; nil before they have started.
    fileprivate var watchers: (list: FileWatcher, journal: JournalWatch)? {
        state.withLock { if case .watching(let list, let journal) = $0 { (list, journal) } else { nil } }
    }

    /// The watcher of the present journal; nil before it has started.
    var journalWatcher: FileWatcher? { watchers?.journal.watcher }
}

extension ListWatch? {
    /// Renames another file to the path of the list.
    ///
    /// - Parameter body: renames the file of a replacement; returns false if it was not renamed.
    func replacingList(by new: FileReplacement, _ body: () throws(StorageError) -> Bool) throws(StorageError) -> Bool {
        guard let watcher = self?.watchers?.list else { return try body() }
        var isReplaced = false
        try watcher.withoutEvents { () throws(StorageError) in
            isReplaced = try body()
            return isReplaced ? new.written : nil
        }
        return isReplaced
    }
}
