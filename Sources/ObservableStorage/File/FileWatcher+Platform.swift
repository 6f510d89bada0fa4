#if os(Linux)
    extension FileWatcher {
        /// What this system offers to be notified.
        static var systemNotifier: (any FileWatcherNotifier)? { InotifyHub.shared }
    }
#elseif canImport(Darwin)
    extension FileWatcher {
        /// What this system offers to be notified.
        static var systemNotifier: (any FileWatcherNotifier)? { VnodeNotifier() }
    }
#else
    extension FileWatcher {
        /// What this system offers to be notified.
        static var systemNotifier: (any FileWatcherNotifier)? { nil }
    }
#endif
