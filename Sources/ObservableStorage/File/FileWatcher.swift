public import Dispatch

/// Tells when the file at a path may have changed, whoever changed it.
///
/// A path is watched, not an inode: the file may be replaced, deleted, missing from the start, or reached through symbolic
/// links, and so may any folder above it. The reader compares what it finds with what it had, because a notice may come
/// without a change. Some things are not noticed at once: writing through a memory map, and the end of a write in place, which is told after
/// a short quiet time of 50 ms on Apple's systems. On Linux, so is what is written to a file, or changes behind a link, that was moved to the
/// path just before. What is mounted over the file or a folder of the path, or unmounted, is noticed on Linux by `/proc/self/mountinfo`;
/// where there is no `/proc`, a timer looks every other second as well.
///
/// Where the system cannot tell, a timer looks. It is tried again to be told: when the file changes, or what is in the way, and otherwise
/// after a time that grows to half a minute.
public final class FileWatcher: Sendable {
    /// How changes are noticed.
    public enum Mechanism: Sendable, Hashable {
        /// Linux: the process's one inotify instance.
        case inotify
        /// Apple's systems: Dispatch sources on the folders and the file.
        case vnode
        /// Anywhere: a timer that compares what identifies the file's state.
        case polling
    }

    /// What a watcher tells.
    public enum Event: Sendable, Hashable {
        /// The file may be another one, or have other content, or be gone.
        case lookAgain
        /// The system cannot tell, ``StorageError/unwatchable(file:reason:)`` says why; from now on a timer looks. Told once each time.
        case fallback(StorageError)
        /// After a fallback, the system tells again, in this way; ``lookAgain`` follows.
        case recovered(Mechanism)
        /// Some changes never show at this path, as ``StorageError/mountedFile(file:)`` says; the others are told. Told once.
        case incomplete(StorageError)
    }

    private let session: FileWatcherSession

    /// Starts watching, and tells to look once everything is in place.
    ///
    /// - Parameters:
    ///   - path: where the file is or will be; a relative path starts at the current folder of now.
    ///   - queue: a serial queue, on which the path is followed and the handler called.
    ///   - handler: called for each event; many changes in a row give few calls, and the last change is always followed by one.
    public convenience init(path: String, queue: DispatchQueue, handler: @escaping @Sendable (Event) -> Void) {
        self.init(path: path, queue: queue, options: FileWatcherOptions(), handler: handler)
    }

    /// Starts watching with other means or times than the system's own.
    init(path: String, queue: DispatchQueue, options: FileWatcherOptions, handler: @escaping @Sendable (Event) -> Void) {
        session = FileWatcherSession(path: path, queue: queue, options: options, handler: handler)
        session.start()
    }

    deinit {
        session.cancel()
    }

    /// How changes are noticed at present.
    public var mechanism: Mechanism {
        session.mechanism
    }

    /// Ends the watch; calling it again does nothing.
    ///
    /// Called on the watcher's queue, nothing is delivered after it returns; elsewhere, a call that has begun may still finish.
    public func cancel() {
        session.cancel()
    }
}
