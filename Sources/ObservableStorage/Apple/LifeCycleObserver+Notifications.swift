#if canImport(Darwin)
    import FoundationSubset

    extension LifeCycleObserver {
        // Observes as long as the process runs.
        private static let ofProcess = {
            let observer = LifeCycleObserver()
            var events = LifeCycleObserver.notifications.map { (Notification.Name($0.key), $0.value) }
            events += protectedDataNotifications
            for (name, event) in events {
                // On the posting thread: at the end of the process the edits are written before it continues.
                _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in observer.handle(event) }
            }
            return observer
        }()

        /// Makes the stores of the process follow its life cycle, from the first store on.
        static func start() {
            _ = ofProcess
        }
    }
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit

    extension LifeCycleObserver {
        /// The notifications before the device is locked, and after it was unlocked.
        fileprivate static let protectedDataNotifications: [(Notification.Name, Event)] = [
            (UIApplication.protectedDataWillBecomeUnavailableNotification, .protectedDataWillBecomeUnavailable),
            (UIApplication.protectedDataDidBecomeAvailableNotification, .protectedDataDidBecomeAvailable),
        ]
    }
#elseif canImport(Darwin)
    extension LifeCycleObserver {
        /// None: the stores look again at intervals.
        fileprivate static let protectedDataNotifications: [(Notification.Name, Event)] = []
    }
#endif
