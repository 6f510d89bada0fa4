import Dispatch
import PropertyListCoding

/// The watchers of a list and of its journal, which are not told of what the store that watches them writes.
final class ListWatch: Sendable {
    fileprivate let watcher: FileWatcher
    fileprivate let journal: JournalWatch

    init(_ watcher: FileWatcher, _ journal: JournalWatch) {
        (self.watcher, self.journal) = (watcher, journal)
    }

    func cancel() {
        watcher.cancel()
        journal.cancel()
    }
}

extension ListWatch? {
    /// Renames another file to the path of the list.
    ///
    /// - Parameter body: renames the file of a replacement; returns false if it was not renamed.
    func replacingList(by new: FileReplacement, _ body: () throws(StorageError) -> Bool) throws(StorageError) -> Bool {
        guard let watcher = self?.watcher else { return try body() }
        var isReplaced = false
        try watcher.withoutEvents(of: .replacement) { () throws(StorageError) in
            isReplaced = try body()
            return isReplaced ? new.written : nil
        }
        return isReplaced
    }

    /// Writes to the journal, under the lock of the list, which every writer of the journal holds.
    func writingJournal(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        guard let watcher = self?.journal.watcher else { return try body() }
        try watcher.withoutEvents(of: .write) { () throws(StorageError) in
            try body()
            return nil
        }
    }
}
