/// The system's way to be told about changes along a path.
protocol FileWatcherNotifier: Sendable {
    var mechanism: FileWatcher.Mechanism { get }

    /// Watches everything whose change can change what the path means or holds.
    ///
    /// `signal` is called from any thread, and has to be quick.
    func watch(_ path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void) throws(FileWatcherObstacle)
        -> any FileWatcherArming
}

/// Everything that is watched for one path.
protocol FileWatcherArming: AnyObject, Sendable {
    /// Whether changes can also be made behind the notifier's back, so that a timer has to look as well.
    var isPartial: Bool { get }

    /// The file, if it is a mount of its own, as those of containers are; nil where that cannot be told.
    var mountedFile: String? { get }

    /// Watches what the path means now; called on one thread at a time.
    func rearm(after signals: FileWatcherSignals) throws(FileWatcherObstacle) -> FileWatcherFound

    /// Stops watching, for good, also what is being armed at the moment on another thread.
    func cancel()
}

/// Why a path cannot be watched.
struct FileWatcherObstacle: Error, Sendable, Hashable {
    let reason: String
    /// Whether it is only that this process may not look there.
    var isForbidden = false
    /// The file or folder that is in the way; nil if no particular one is.
    var path: String?
}
