#if canImport(ObjectiveC)
    import Foundation

    extension KeyObserver {
        /// Observes entries of user defaults by key-value observing, which reports changes by other processes as well.
        ///
        /// `UserDefaults.didChangeNotification` is posted for changes inside this process only (Apple's documentation of it).
        init?(observing defaults: UserDefaults, report: @escaping @Sendable () -> Void) {
            let target = KeyObserverTarget(report)
            // Safe because user defaults may be used on any thread. The closures retain both while they are in use.
            nonisolated(unsafe) let defaults = defaults
            self.init(
                // Without `.initial`, during whose call removing an observer raises an exception (openradar 34307466).
                add: { defaults.addObserver(target, forKeyPath: $0, options: [], context: target.context) },
                remove: { defaults.removeObserver(target, forKeyPath: $0, context: target.context) })
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
        var context: UnsafeMutableRawPointer {
            Unmanaged.passUnretained(self).toOpaque()
        }

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

    extension KeyObserver {
        /// Nil: there is no key-value observing here.
        init?(observing defaults: UserDefaults, report: @escaping @Sendable () -> Void) {
            return nil
        }
    }
#endif
