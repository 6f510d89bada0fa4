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
        /// Files can be opened that could not be before the device was unlocked.
        case protectedDataDidBecomeAvailable
    }

    /// What the stores have to do.
    enum Action: Equatable, Sendable {
        /// Write the edits of the stores in group containers, and then suspend these.
        case flushAndSuspend
        /// Resume the stores in group containers.
        case resume
        /// Write the edits of all stores before returning.
        case writeAll
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
    ]

    private var isInBackground = false

    /// Records an event; returns nil if there is nothing to do.
    mutating func handle(_ event: Event) -> Action? {
        switch event {
        case .didEnterBackground:
            defer { isInBackground = true }
            return isInBackground ? nil : .flushAndSuspend
        case .willEnterForeground:
            defer { isInBackground = false }
            return isInBackground ? .resume : nil
        case .willTerminate:
            return .writeAll
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
    // Serial: an application that returns from the background at once ends with its stores resumed.
    private let queue = DispatchQueue(label: "ObservableStore life cycle")

    init(registry: StoreRegistry = .all, activity: ExpiringActivity? = .system) {
        self.registry = registry
        self.activity = activity
    }

    /// Records an event, and begins what it requires; at the end of the process it is done on return.
    func handle(_ event: LifeCycle.Event) {
        // Queued under the lock, in the order of the events; everything else follows.
        let next: (() -> Void)? = state.withLock { state in
            switch state.handle(event) {
            case nil: return nil
            case .flushAndSuspend: return flushAndSuspend()
            case .resume: enqueue { ObservableStore.resume(.groupContainers, in: self.registry) }
            case .lookAgain: enqueue { self.registry.stores(.all).forEach { $0.receive(.changed) } }
            case .writeAll: return { self.registry.writeAll() }
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

    /// Queues that the stores are written and suspended.
    ///
    /// - Returns: requests the activity for it, which lasts until they are suspended.
    private func flushAndSuspend() -> () -> Void {
        let end = DispatchGroup()
        let hasEnded = Lock(false)
        end.enter()
        enqueue { [registry] in
            let work = DispatchGroup()
            work.enter()
            Task {
                await withTaskGroup(of: Void.self) { flushes in
                    for store in registry.stores(.groupContainers) { flushes.addTask { await store.flushReporting() } }
                }
                await ObservableStore.suspend(.groupContainers, in: registry)
                work.leave()
            }
            work.wait()
            hasEnded.withLock { $0 = true }
            end.leave()
        }
        return { [registry, activity] in
            activity?.perform("writing the settings") { isExpiring in
                if isExpiring {
                    let stores = registry.stores(.groupContainers)
                    // A flush that waits for a lock gives up. Under the lock: afterwards the stores may have been resumed.
                    hasEnded.withLock { hasEnded in
                        if !hasEnded { for store in stores { store.beginSuspension() } }
                    }
                }
                // The process may be suspended as soon as this returns.
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
