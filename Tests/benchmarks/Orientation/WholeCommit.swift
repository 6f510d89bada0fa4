import Dispatch
import Foundation
import PropertyListCoding
import Synchronization
import TestSupport

/// A store's commit without a store: on a queue that is awaited, one entry is changed, the file checked under a lock on another
/// file, all entries encoded, and the file replaced with the old one held open, while its folder is watched.
///
/// No edit of another process is lost, as long as there is nothing to merge.
final class WholeCommit: Sendable {
    private struct State {
        var number = 0
        var entries: [String: PropertyListValue]
        /// The content of the file.
        var bytes = Data()
    }

    private let state: Mutex<State>
    private let isScheduled = Atomic(false)
    private let folder: TemporaryFolder
    private let file: String
    private let lock: Int32
    private let watch: BareWatch
    private let queue = DispatchQueue(label: "commit")
    private let closing = DispatchQueue(label: "closing")

    init(of entries: [String: PropertyListValue], in folder: TemporaryFolder) throws {
        state = Mutex(State(entries: entries))
        self.folder = folder
        file = folder.path("settings.plist")
        lock = open(folder.path("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try Failure.unless(lock >= 0, "no lock can be made")
        try Data().write(to: URL(fileURLWithPath: file))
        watch = try BareWatch(folder.url.path) {}
    }

    func end() {
        wait()
        watch.cancel()
        close(lock)
    }

    var work: Work {
        Work { count in
            let start = Clock.now
            for _ in 0..<count {
                try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                    self.queue.async { done.resume(with: Result { try self.commit() }) }
                }
            }
            return Double(Clock.now - start) / Double(count)
        }
    }

    /// Commits asynchronously, unless a commit is already scheduled.
    func schedule() {
        guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.async {
            self.isScheduled.store(false, ordering: .releasing)
            do {
                try self.commit()
            } catch {
                fatalError("\(error)")
            }
        }
    }

    /// Waits until all commits have finished.
    func wait() {
        queue.sync {}
    }

    private func commit() throws {
        try state.withLock { state in
            state.number += 1
            state.entries["launchCount"] = .integer(PropertyListInteger(Int64(state.number)))
            flock(lock, LOCK_EX)
            defer { flock(lock, LOCK_UN) }
            let found = try Data(contentsOf: URL(fileURLWithPath: file))
            try Failure.unless(found == state.bytes, "\(file) was written by another one")
            state.bytes = try PropertyListValue.dictionary(state.entries).encoded(as: .binary)
            try Committing.replaceHoldingOld(file, in: folder.url.path, by: state.bytes, closing: closing)
        }
    }
}
