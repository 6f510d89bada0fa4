#if canImport(ObjectiveC)
    import Foundation

    extension SharedDefaults {
        /// Observes entries of user defaults by key-value observing, which reports changes by other processes as well.
        ///
        /// `UserDefaults.didChangeNotification` is posted for changes inside this process only (Apple's documentation of it).
        static func observer(of defaults: UserDefaults, report: @escaping @Sendable () -> Void) -> KeyObserver? {
            let target = KeyObserverTarget(report)
            // Safe because user defaults may be used on any thread. The closure retains both while it is in use.
            nonisolated(unsafe) let defaults = defaults
            return { actions in
                for name in actions.removed { defaults.removeObserver(target, forKeyPath: name, context: target.context) }
                // Without `.initial`, during whose call removing an observer raises an exception (openradar 34307466).
                for name in actions.added { defaults.addObserver(target, forKeyPath: name, options: [], context: target.context) }
            }
        }
    }

    /// Receives the notifications of key-value observing, on the thread that makes the change.
    ///
    /// The unchecked conformance holds because nothing changes after initialization.
    private final class KeyObserverTarget: NSObject, @unchecked Sendable {
        private let report: @Sendable () -> Void

        init(_ report: @escaping @Sendable () -> Void) {
            self.report = report
        }

        /// Distinguishes these observations from those of a superclass; never dereferenced.
        var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

        override func observeValue(
            forKeyPath keyPath: String?, of object: Any?, change: [NSKeyValueChangeKey: Any]?, context: UnsafeMutableRawPointer?
        ) {
            guard context == self.context else {
                return super.observeValue(forKeyPath: keyPath, of: object, change: change, context: context)
            }
            report()
        }
    }
#else
    import Foundation

    extension SharedDefaults {
        /// Nil: there is no key-value observing here.
        static func observer(of defaults: UserDefaults, report: @escaping @Sendable () -> Void) -> KeyObserver? { nil }
    }
#endif
