public import Dispatch

/// Reports when the file at a path may have changed, by any process.
///
/// A path is watched, not an inode: the file, and any folder above it, may be replaced, deleted, missing from the start, or reached
/// through symbolic links. Compare the file with its earlier state, because an event may be delivered without a change.
///
/// Some changes are not reported immediately: writes through a memory map, and, on Apple's systems, writes in place, which are reported
/// after 50 ms without further writes. On Linux, the same applies to writes to a file that was just renamed to the path, and to changes at
/// the target of a link that was. Mounts and unmounts at the file or a folder of the path are detected on Linux with
/// `/proc/self/mountinfo`; without `/proc`, a timer also compares the file every other second.
///
/// If the system cannot report changes, a timer compares the file. Watching is retried when the file changes, or the file or folder that
/// prevents watching, and otherwise after a delay that increases to half a minute.
public final class FileWatcher: Sendable {
    /// How changes are detected.
    public enum Mechanism: Sendable, Hashable {
        /// Linux: the process's one inotify instance.
        case inotify
        /// Apple's systems: Dispatch sources on the folders and the file.
        case vnode
        /// Any platform: a timer that compares the identity of the file.
        case polling
    }

    /// An event that a watcher reports.
    public enum Event: Sendable, Hashable {
        /// The file may have been replaced, modified or removed.
        case changed
        /// The system cannot report changes, for the reason in ``StorageError/unwatchable(file:reason:)``; a timer now compares the file.
        /// Reported once for each fallback. With another error, the path cannot be used at all, as a relative one in a working folder that no
        /// longer exists, and only ``changed`` follows, once.
        case fallback(StorageError)
        /// After a fallback, the system reports changes again, by this mechanism; ``changed`` follows.
        case recovered(Mechanism)
        /// Some changes are never visible at this path, as described by ``StorageError/mountedFile(file:)``; the others are reported.
        /// Reported once.
        case incomplete(StorageError)
    }

    let session: FileWatcherSession

    /// Starts watching, and reports ``Event/changed`` after the path is watched.
    ///
    /// - Parameters:
    ///   - path: the path of the file, which need not exist; a relative path is resolved against the current working folder.
    ///   - queue: a serial queue, on which the path is resolved and the handler called.
    ///   - handler: called for each event; consecutive changes are combined, and the last change is always followed by a call.
    public convenience init(path: String, queue: DispatchQueue, handler: @escaping @Sendable (Event) -> Void) {
        self.init(path: path, queue: queue, isStarted: true, handler: handler)
    }

    /// - Parameter isStarted: whether it starts watching; otherwise its session does, when that is started.
    init(
        path: String, queue: DispatchQueue, options: FileWatcherOptions = FileWatcherOptions(), isStarted: Bool = true,
        handler: @escaping @Sendable (Event) -> Void
    ) {
        session = FileWatcherSession(path: path, queue: queue, options: options, handler: handler)
        if isStarted { session.start() }
    }

    deinit {
        session.cancel()
    }

    /// The present mechanism.
    public var mechanism: Mechanism { session.state.withLock { $0.mechanism } }

    /// Stops watching; calling it again has no effect.
    ///
    /// If it is called on the watcher's queue, nothing is delivered after it returns; otherwise, a call that has begun may still finish.
    public func cancel() {
        session.cancel()
    }
}

// MARK: - Streams

extension FileWatcher {
    /// The events of a new watcher as a stream for one reader.
    ///
    /// Events that arrive faster than they are read are combined. Watching ends with the reading task, or when the stream is released.
    ///
    /// - Parameter path: the path of the file, which need not exist; a relative path is resolved against the current working folder.
    public static func events(at path: String) -> AsyncStream<Event> {
        events { FileWatcher(path: path, queue: DispatchQueue(label: "ObservableStorage.FileWatcher"), handler: $0) }
    }

    /// The events of a watcher that the closure creates.
    static func events(of makeWatcher: (_ handler: @escaping @Sendable (Event) -> Void) -> FileWatcher) -> AsyncStream<Event> {
        let unread = Lock<[Int: Event]>([:])
        let arrival = LatestSlot()
        let watcher = makeWatcher { event in
            unread.withLock { $0[event.precedence] = event }
            arrival.send(Box(()))
        }
        let arrivals = arrival.values(of: Void.self)
        return AsyncStream {
            while true {
                let event = unread.withLock { unread in unread.keys.min().flatMap { unread.removeValue(forKey: $0) } }
                if let event { return event }
                var iterator = arrivals.makeAsyncIterator()
                guard await iterator.next() != nil else { return nil }
            }
        } onCancel: {
            // Also retains the watcher while the stream exists.
            watcher.cancel()
            arrival.end(keepingValue: true)
        }
    }
}

extension FileWatcher.Event {
    /// The order in which unread events are read. An event replaces an unread one of the same precedence.
    fileprivate var precedence: Int {
        switch self {
        case .fallback, .recovered: 0
        case .incomplete: 1
        case .changed: 2
        }
    }
}

// MARK: - Options

/// How a watcher detects changes, and how soon it reports them. Tests use other values.
struct FileWatcherOptions: Sendable {
    /// The system's service that reports changes; nil to poll instead.
    var service: WatchService? = .system
    /// How long an open writer has to be quiet before its changes are reported, and before a file that replaced another is watched.
    var quiet: Duration = .milliseconds(50)
    /// How long an open writer that is never quiet can delay that.
    var limit: Duration = .milliseconds(500)
    /// How often the file is compared if the system does not report changes.
    var pollInterval: Duration = .milliseconds(500)
    /// How often the file is also compared if a lower layer of the file system may change, or mounts are not reported.
    var layerInterval: Duration = .seconds(2)
    /// Whether a failed registration is also retried after a delay, not only after a change.
    var retriesWithBackoff = true
    /// The calls by which files are compared.
    var calls = FileSystemCalls.live
}
