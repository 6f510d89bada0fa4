/// By what means and in what time a watcher works; tests choose their own.
struct FileWatcherOptions: Sendable {
    /// What the system offers to be notified; nil to look from time to time instead.
    var notifier: (any FileWatcherNotifier)? = FileWatcher.systemNotifier
    /// How long an open writer must be quiet before its work is looked at, and what replaced the file before it is looked at again.
    var quiet: Duration = .milliseconds(50)
    /// How long an open writer that is never quiet can put that off.
    var limit: Duration = .milliseconds(500)
    /// How often to look where the system does not notify.
    var pollInterval: Duration = .milliseconds(500)
    /// How often to look, beside being notified, where a layer of the file system may be changed underneath, or mounting is told by nobody.
    var layerInterval: Duration = .seconds(2)
    /// Whether to try to be notified again after a time, where that has failed, and not only when something there changes.
    var retriesWithBackoff = true
}
