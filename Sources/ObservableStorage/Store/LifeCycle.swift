import Dispatch

/// The life cycle of an application or an extension, as a state machine that decides what its stores do at each event.
struct LifeCycle: Sendable {
    /// An event that the system notifies a process of.
    enum Event: Sendable {
        /// The process may be suspended soon.
        case didEnterBackground
        /// The process is used again.
        case willEnterForeground
        /// The process is about to end.
        case willTerminate
        /// Objects may have got a scene.
        case sceneDidChange
        /// The device is about to be locked, after which files with complete protection cannot be used.
        case protectedDataWillBecomeUnavailable
        /// The device was unlocked, and files can be opened again.
        case protectedDataDidBecomeAvailable
    }

    /// What the stores have to do.
    enum Action: Equatable, Sendable {
        /// Write the edits of the stores in containers of app groups, and lock their files only during an activity from now on.
        case enterBackground
        /// Lock these files at any time again, and write the edits that are still pending.
        case leaveBackground
        /// Set the values that have waited for a scene.
        case settleScenes
        /// Do that, and write the edits of all stores before returning.
        case writeAll
        /// Give up the logs of edits that cannot be used while the device is locked, before returning.
        case abandonProtectedLogs
        /// Read the storages again.
        case readAgain
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

    private var isInBackground = false

    /// The action that an event requires; nil if there is none.
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
            return .readAgain
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

    /// Begins the action that an event requires; at the end of the process, the action is complete on return.
    func handle(_ event: LifeCycle.Event) {
        // Queued under the lock, in the order of the events.
        let next: (() -> Void)? = state.withLock { state in
            switch state.handle(event) {
            case nil: return nil
            case .enterBackground: return flush(registry.setInBackground(true))
            case .leaveBackground:
                let stores = registry.setInBackground(false)
                enqueue { for store in stores where store.storage.isOutsideContainer { store.receive(.reachable(true)) } }
            case .readAgain: enqueue { self.registry.stores.forEach { $0.receive(.changed) } }
            case .abandonProtectedLogs:
                return {
                    for store in self.registry.stores where store.cache.abandonLogIfProtected() {
                        store.scheduleFlush(after: .nanoseconds(0))
                    }
                }
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

    /// Queues flushes of the stores in containers of app groups.
    ///
    /// - Returns: a closure that requests an activity for them.
    private func flush(_ stores: [Synchronizer]) -> () -> Void {
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
                    for store in stores where store.storage.isOutsideContainer { flushes.addTask { await store.flushReporting() } }
                }
                work.leave()
            }
            work.wait()
            leave()
        }
        return { [activity] in
            activity?.perform("writing the settings") { isExpiring in
                // Each flush has an activity of its own, which makes it give up.
                if isExpiring { leave() }
                end.wait()
            }
        }
    }
}

extension Synchronizer {
    /// Flushes; a failure was reported, and is tried again.
    fileprivate func flushReporting() async {
        do { try await flush(to: .storage) } catch {}
    }
}

#if !canImport(Darwin)
    extension LifeCycleObserver {
        /// Does nothing: other systems neither suspend processes because of locks nor notify them.
        static func start() {}
    }
#endif
