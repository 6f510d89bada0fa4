import Dispatch

/// Makes the stores of a registry follow the life cycle of an application or an extension.
final class LifeCycleObserver: Sendable {
    /// An event that the system notifies a process of.
    enum Event: Sendable {
        /// The process may be suspended soon.
        case didEnterBackground
        /// The process is used again.
        case willEnterForeground
        case willTerminate
        /// Objects may have got a scene.
        case sceneDidChange
        /// The device is about to be locked, after which files with complete protection cannot be used.
        case protectedDataWillBecomeUnavailable
        /// The device was unlocked, and files can be opened again.
        case protectedDataDidBecomeAvailable
    }

    /// The notifications of applications and, from their host, of extensions, by their names in UIKit, AppKit, WatchKit and Foundation.
    ///
    /// The constants of the frameworks would link these into every program.
    static let notifications: [String: Event] = [
        "UIApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "NSExtensionHostDidEnterBackgroundNotification": .didEnterBackground,
        "UIApplicationWillEnterForegroundNotification": .willEnterForeground,
        "NSExtensionHostWillEnterForegroundNotification": .willEnterForeground,
        // A process of extensions may get another host after the first one ended in the background.
        "NSExtensionHostDidBecomeActiveNotification": .willEnterForeground,
        "WKApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "WKApplicationWillEnterForegroundNotification": .willEnterForeground,
        "UIApplicationWillTerminateNotification": .willTerminate,
        "NSApplicationWillTerminateNotification": .willTerminate,
        "UISceneDidActivateNotification": .sceneDidChange,
        "UISceneDidEnterBackgroundNotification": .sceneDidChange,
        "NSWindowDidBecomeKeyNotification": .sceneDidChange,
    ]

    private let registry: StoreRegistry
    private let activity: ExpiringActivity?
    private let scenes: WaitingScenes
    private let queue = DispatchQueue(label: "ObservableStore life cycle")

    init(registry: StoreRegistry = .all, activity: ExpiringActivity? = FlushAssertion.system, scenes: WaitingScenes = .all) {
        (self.registry, self.activity, self.scenes) = (registry, activity, scenes)
    }

    /// Begins what an event requires; at the end of the process, it is complete on return.
    func handle(_ event: Event) {
        switch event {
        case .didEnterBackground: enterBackground()
        case .willEnterForeground: leaveBackground()
        case .sceneDidChange: scenes.settle()
        case .willTerminate:
            scenes.settle()
            registry.writeAll()
        case .protectedDataWillBecomeUnavailable:
            for store in registry.stores where store.cache.abandonLogIfProtected() { store.scheduleFlush(after: .nanoseconds(0)) }
        case .protectedDataDidBecomeAvailable: enqueue { self.registry.stores.forEach { $0.receive(.changed) } }
        }
    }

    /// Lets the stores in containers of app groups lock their files only during an activity from now on, and writes their edits.
    private func enterBackground() {
        let end = DispatchSemaphore(value: 0)
        let isFirst = registry.setInBackground(true) { stores in
            enqueue {
                let work = DispatchGroup()
                for store in stores where store.storage.isOutsideContainer {
                    work.enter()
                    Task {
                        // A failure is reported, and tried again.
                        try? await store.flush(to: .storage)
                        work.leave()
                    }
                }
                work.wait()
                end.signal()
            }
        }
        guard isFirst else { return }
        activity?("writing the settings") { isExpiring in
            // Each flush has an activity of its own, which makes it give up.
            if isExpiring { end.signal() } else { end.wait() }
        }
    }

    /// Lets them lock these files at any time again, and writes the edits that are still pending.
    private func leaveBackground() {
        _ = registry.setInBackground(false) { stores in
            enqueue { for store in stores where store.storage.isOutsideContainer { store.receive(.reachable(true)) } }
        }
    }

    /// Returns after the actions of all events so far.
    func settle() async {
        await withCheckedContinuation { continuation in
            enqueue { continuation.resume() }
        }
    }

    // After the other observers of a notification, which often save something now.
    private func enqueue(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async { [queue] in queue.async(execute: work) }
    }
}

#if !canImport(Darwin)
    extension LifeCycleObserver {
        /// Does nothing: other systems neither suspend processes because of locks nor notify them.
        static func start() {}
    }
#endif
