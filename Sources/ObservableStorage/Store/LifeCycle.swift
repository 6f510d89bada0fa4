import Dispatch

/// The life cycle of an application or of an extension, and what its stores have to do at each of its events.
struct LifeCycle: Sendable {
    /// An event that the system notifies a process of.
    enum Event: Sendable {
        /// The process may be suspended soon.
        case didEnterBackground
        /// The process is used again.
        case willEnterForeground
        /// The process is about to end.
        case willTerminate
        /// Objects may be in a scene that were in none.
        case sceneDidChange
        /// The device is about to be locked, after which files with complete protection cannot be used.
        case protectedDataWillBecomeUnavailable
        /// Files can be opened that could not be before the device was unlocked.
        case protectedDataDidBecomeAvailable
    }

    /// What the stores have to do.
    enum Action: Equatable, Sendable {
        /// Write the edits of the stores whose files may not be locked while the process is suspended. From now on, these are only locked
        /// during an activity.
        case enterBackground
        /// Lock them at any time again, and write the edits for which the system has granted no activity.
        case leaveBackground
        /// Set the values that have waited for a scene.
        case settleScenes
        /// The same, and write the edits of all stores before returning.
        case writeAll
        /// Do without logs of edits that cannot be used while the device is locked, before returning.
        case abandonProtectedLogs
        /// Look at the files again.
        case lookAgain
    }

    /// The notifications of applications and, from their host, of extensions, by their names in UIKit, AppKit, WatchKit and Foundation.
    ///
    /// Not by the frameworks' constants, which would link them into every program.
    static let notifications: [String: Event] = [
        "UIApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "NSExtensionHostDidEnterBackgroundNotification": .didEnterBackground,
        "UIApplicationWillEnterForegroundNotification": .willEnterForeground,
        "NSExtensionHostWillEnterForegroundNotification": .willEnterForeground,
        // A process of extensions may get another host, whose predecessor ended in the background.
        "NSExtensionHostDidBecomeActiveNotification": .willEnterForeground,
        "WKApplicationDidEnterBackgroundNotification": .didEnterBackground,
        "WKApplicationWillEnterForegroundNotification": .willEnterForeground,
        "UIApplicationWillTerminateNotification": .willTerminate,
        "NSApplicationWillTerminateNotification": .willTerminate,
        "UISceneDidActivateNotification": .sceneDidChange,
        "UISceneDidEnterBackgroundNotification": .sceneDidChange,
        "NSWindowDidBecomeKeyNotification": .sceneDidChange,
    ]

    private var isInBackground = false

    /// Records an event; returns nil if there is nothing to do.
    mutating func handle(_ event: Event) -> Action? {
        switch event {
        case .didEnterBackground:
            defer { isInBackground = true }
            return isInBackground ? nil : .enterBackground
        case .willEnterForeground:
            defer { isInBackground = false }
            return isInBackground ? .leaveBackground : nil
        case .willTerminate:
            return .writeAll
        case .sceneDidChange:
            return .settleScenes
        case .protectedDataWillBecomeUnavailable:
            return .abandonProtectedLogs
        case .protectedDataDidBecomeAvailable:
            return .lookAgain
        }
    }
}

/// Makes the stores of a registry follow the life cycle of the process.
final class LifeCycleObserver: Sendable {
    private let state = Lock(LifeCycle())
    private let registry: StoreRegistry
    private let activity: ExpiringActivity?
    private let scenes: WaitingScenes
    private let queue = DispatchQueue(label: "ObservableStore life cycle")

    init(registry: StoreRegistry = .all, activity: ExpiringActivity? = .system, scenes: WaitingScenes = .all) {
        (self.registry, self.activity, self.scenes) = (registry, activity, scenes)
    }

    /// Records an event, and begins what it requires; at the end of the process it is done on return.
    func handle(_ event: LifeCycle.Event) {
        // Queued under the lock, in the order of the events; everything else follows.
        let next: (() -> Void)? = state.withLock { state in
            switch state.handle(event) {
            case nil: return nil
            case .enterBackground: return flush(registry.setInBackground(true))
            case .leaveBackground:
                let stores = registry.setInBackground(false)
                enqueue { for store in stores where store.isOutsideContainer { store.receive(.reachable(true)) } }
            case .lookAgain: enqueue { self.registry.stores.forEach { $0.receive(.changed) } }
            case .abandonProtectedLogs: return { self.registry.stores.forEach { $0.cache.abandonLogIfProtected() } }
            case .settleScenes: return { self.scenes.settle() }
            case .writeAll:
                return {
                    self.scenes.settle()
                    self.registry.writeAll()
                }
            }
            return nil
        }
        next?()
    }

    /// Returns after what the events so far require has been done.
    func settle() async {
        await withCheckedContinuation { continuation in
            enqueue { continuation.resume() }
        }
    }

    // After the other observers of a notification, which often save something now.
    private func enqueue(_ work: @escaping @Sendable () -> Void) {
        DispatchQueue.main.async { [queue] in queue.async(execute: work) }
    }

    /// Queues that those of the stores are written whose files may not be locked while the process is suspended.
    ///
    /// - Returns: requests the activity in which that begins.
    private func flush(_ stores: [ObservableStore]) -> () -> Void {
        let end = DispatchGroup()
        let hasEnded = Lock(false)
        let leave = { @Sendable in
            let isFirst = hasEnded.withLock { hasEnded in
                defer { hasEnded = true }
                return !hasEnded
            }
            if isFirst { end.leave() }
        }
        end.enter()
        enqueue {
            let work = DispatchGroup()
            work.enter()
            Task {
                await withTaskGroup(of: Void.self) { flushes in
                    for store in stores where store.isOutsideContainer { flushes.addTask { await store.flushReporting() } }
                }
                work.leave()
            }
            work.wait()
            leave()
        }
        return { [activity] in
            activity?.perform("writing the settings") { isExpiring in
                // Each flush has an activity of its own as well, which makes it give up: this one does not wait for that.
                if isExpiring { leave() }
                end.wait()
            }
        }
    }
}

extension ObservableStore {
    /// Flushes; a failure has been reported, and its edits are tried again.
    fileprivate func flushReporting() async {
        do { try await flush() } catch {}
    }
}

#if !canImport(Darwin)
    extension LifeCycleObserver {
        /// Does nothing: other systems neither suspend processes because of locks nor notify them.
        static func start() {}
    }
#endif
