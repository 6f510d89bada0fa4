#if os(Linux)
    import Dispatch
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The process's one inotify instance, shared by all watchers: the kernel allows a user few instances and many watches.
    final class InotifyHub: FileWatcherNotifier {
        typealias Watched = InotifyTable<InotifyArming>.Watched

        /// What came of the wish to watch something.
        enum Outcome: Sendable, Hashable {
            case watching(Watched)
            /// It is no longer there, or is no folder any more.
            case gone
            /// This process may not read it.
            case forbidden
        }

        private struct State {
            var instance: InotifyInstance?
            var table = InotifyTable<InotifyArming>()
            var isToldOfMounts = false
        }

        /// The instance for everything this process watches.
        static let shared = InotifyHub(calls: .system)

        let calls: InotifyCalls
        private let queue = DispatchQueue(label: "ObservableStorage.InotifyHub")
        private let state = Guarded(State())

        init(calls: InotifyCalls) {
            self.calls = calls
        }

        var mechanism: FileWatcher.Mechanism { .inotify }

        /// Whether the kernel tells when something is mounted or unmounted.
        var isToldOfMounts: Bool {
            state.withLock { $0.isToldOfMounts }
        }

        func watch(_ path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void) throws(FileWatcherObstacle)
            -> any FileWatcherArming
        {
            // Before the first path is followed, or what is mounted meanwhile would be told to nobody.
            watchMounts()
            let arming = InotifyArming(hub: self, path: path, signal: signal)
            do throws(FileWatcherObstacle) {
                _ = try arming.rearm(after: .rerouted)
            } catch {
                arming.cancel()
                throw error
            }
            return arming
        }

        /// Watches a folder for a name, or a file itself, for a subscriber.
        ///
        /// Once it returns, nothing of what is asked for is missed; what was asked for there before is told as well.
        func add(
            _ subscriber: InotifyArming, path: String, name: String?, for mask: InotifyEvent.Mask
        ) throws(FileWatcherObstacle) -> Outcome {
            // The kernel's answer and the entry for it are one step, or an event could come in between and find nobody.
            let result = state.withLock { state -> Int32 in
                let instance = open(&state)
                guard instance >= 0 else { return instance }
                let watch = calls.watch(instance, path, mask.rawValue)
                if watch >= 0 { state.table.insert(subscriber, for: Watched(watch: watch, name: name)) }
                return watch
            }
            switch -result {
            case ENOENT, ENOTDIR, ELOOP: return .gone
            case EACCES, EPERM: return .forbidden
            case let code where code > 0: throw Self.obstacle(path, code)
            default: return .watching(Watched(watch: result, name: name))
            }
        }

        /// Ends subscriptions, and the watches that nobody else uses.
        func remove(_ subscriber: InotifyArming, keys: some Sequence<Watched>) {
            state.withLock { state in
                for key in keys where state.table.remove(subscriber, for: key) {
                    // The kernel may have ended the watch already.
                    if let instance = state.instance { _ = calls.unwatch(instance.descriptor, key.watch) }
                }
            }
        }

        private func watchMounts() {
            state.withLock { state in
                if state.isToldOfMounts { return }
                state.isToldOfMounts = calls.watchMounts { [weak self] points in
                    guard let self else { return false }
                    for subscriber in self.state.withLock({ $0.table.everybody }) { subscriber.mountsChanged(at: points) }
                    return true
                }
            }
        }

        private func open(_ state: inout State) -> Int32 {
            if let instance = state.instance { return instance.descriptor }
            let descriptor = calls.open()
            guard descriptor >= 0 else { return descriptor }
            state.instance = InotifyInstance(descriptor: descriptor, queue: queue) { [weak self] in self?.deliver($0) }
            return descriptor
        }

        private func deliver(_ buffer: UnsafeRawBufferPointer) {
            InotifyEvent.forEach(in: buffer) { event in
                let subscribers = state.withLock { state in
                    let subscribers = state.table.subscribers(of: event)
                    if event.mask.contains(.ignored) { state.table.forget(event.watch) }
                    return subscribers
                }
                for subscriber in subscribers { subscriber.receive(event) }
            }
        }

        private static func obstacle(_ path: String, _ code: Int32) -> FileWatcherObstacle {
            switch code {
            case ENOSPC: FileWatcherObstacle(reason: "no inotify watches are left (fs.inotify.max_user_watches)")
            case EMFILE: FileWatcherObstacle(reason: "no inotify instance or descriptor is left (fs.inotify.max_user_instances)")
            default: FileWatcherObstacle(path: path, code: code)
            }
        }
    }
#endif
