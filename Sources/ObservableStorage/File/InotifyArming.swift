#if os(Linux)
    import Synchronization

    /// The watches that one path needs: each folder on the way for the name that is looked up in it, and the file.
    final class InotifyArming: FileWatcherArming {
        private typealias Key = InotifyHub.Key

        /// What one walk along the path came to.
        private struct Route {
            var keys: Set<Key> = []
            /// The file, or the name that could become it, and the folder's key for it.
            var last: TrailWalk.Step?
            var lastKey: Key?
            var fileKey: Key?
            var isPartial = false
            var found = FileWatcherFound.ready
        }

        private struct State {
            var route = Route()
            var isCancelled = false
        }

        // How often a path may change under the walk before that is called unwatchable.
        private static let maximumAttempts = 64

        private let hub: InotifyHub
        private let path: String
        private let signal: @Sendable (FileWatcherSignals) -> Void
        private let state = Mutex(State())

        init(hub: InotifyHub, path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void) {
            self.hub = hub
            self.path = path
            self.signal = signal
        }

        var isPartial: Bool {
            state.withLock { $0.route.isPartial }
        }

        func rearm(after signals: FileWatcherSignals) throws(FileWatcherObstacle) -> FileWatcherFound {
            let current = state.withLock { $0.route }
            if !signals.contains(.rerouted), let route = try follow(current) {
                return adopt(route)
            }
            return adopt(try follow())
        }

        func cancel() {
            let keys = state.withLock { state in
                state.isCancelled = true
                return state.route.keys
            }
            hub.remove(self, keys: keys)
        }

        /// Takes an event that concerns this path; called by the hub, on its queue, without its lock.
        func receive(_ event: InotifyEvent) {
            let (lastKey, fileKey) = state.withLock { ($0.route.lastKey, $0.route.fileKey) }
            let isLast = event.name != nil && lastKey == Key(watch: event.watch, name: event.name)
            signal(event.signals(isFile: fileKey?.watch == event.watch, isLast: isLast))
        }

        /// Makes a route the current one, and ends what only the one before needed.
        private func adopt(_ route: Route) -> FileWatcherFound {
            let obsolete = state.withLock { state in
                let old = state.route.keys
                guard !state.isCancelled else { return route.keys.union(old) }
                state.route = route
                return old.subtracting(route.keys)
            }
            hub.remove(self, keys: obsolete)
            return route.found
        }

        /// Watches the file that now bears the name; nil if it takes more, because the name is that of a link or a folder.
        private func follow(_ current: Route) throws(FileWatcherObstacle) -> Route? {
            guard let last = current.last else { return nil }
            var route = current
            let old = route.fileKey
            if let old { route.keys.remove(old) }
            try watchFile(last, in: &route)
            let entry = try looking(for: route) { () throws(FileWatcherObstacle) in try TrailEntry(path: last.path) }
            guard entry.kind == .file || entry.kind == .missing else {
                discard(route, keeping: current)
                return nil
            }
            route.found = entry.isEmptyFile ? .empty : .ready
            return route
        }

        /// Walks the whole path, watching each folder before looking into it, so that no change falls in between.
        private func follow() throws(FileWatcherObstacle) -> Route {
            for _ in 0..<Self.maximumAttempts {
                if let route = try walk() { return route }
            }
            throw FileWatcherObstacle(reason: "the folders on its path keep changing")
        }

        private func walk() throws(FileWatcherObstacle) -> Route? {
            var route = Route()
            var walk = TrailWalk(path: path)
            var devices: Set<UInt64> = []
            while let step = walk.next() {
                let outcome = try looking(for: route) { () throws(FileWatcherObstacle) in
                    try hub.add(self, path: step.folder, name: step.name)
                }
                let isWatched: Bool
                switch outcome {
                case .watching(let key):
                    route.keys.insert(key)
                    (route.last, route.lastKey) = (walk.last, walk.last == nil ? nil : key)
                    isWatched = true
                case .forbidden:
                    (route.last, route.lastKey) = (nil, nil)
                    isWatched = false
                case .gone:
                    discard(route)
                    return nil
                }
                let entry = try looking(for: route) { () throws(FileWatcherObstacle) in
                    let entry = try TrailEntry(path: step.path)
                    // A folder that may be passed but not read cannot be watched, which only matters for what is looked up in it.
                    guard isWatched || entry.kind == .folder else {
                        throw FileWatcherObstacle(reason: "\(step.folder): not readable")
                    }
                    return entry
                }
                if let device = entry.device, devices.insert(device).inserted {
                    switch hub.calls.mount(device) {
                    case .local: break
                    case .layered: route.isPartial = true
                    case .remote(let type):
                        discard(route)
                        throw FileWatcherObstacle(reason: "\(step.path) is on \(type), where others make changes unnoticed")
                    }
                }
                walk.found(entry)
                route.found = entry.isEmptyFile ? .empty : .ready
            }
            if let file = walk.file { try watchFile(file, in: &route) }
            return route
        }

        /// Watches the file itself, if it is there and readable; its folder tells when that changes.
        private func watchFile(_ file: TrailWalk.Step, in route: inout Route) throws(FileWatcherObstacle) {
            route.fileKey = nil
            let armed = route
            let outcome = try looking(for: armed) { () throws(FileWatcherObstacle) in try hub.add(self, path: file.path, name: nil) }
            guard case .watching(let key) = outcome else { return }
            route.keys.insert(key)
            route.fileKey = key
        }

        /// Looks at something for a route, which is given up if that fails.
        private func looking<Result>(
            for route: Route, _ look: () throws(FileWatcherObstacle) -> Result
        ) throws(FileWatcherObstacle) -> Result {
            do throws(FileWatcherObstacle) {
                return try look()
            } catch {
                discard(route)
                throw error
            }
        }

        /// Gives up what a route needed beyond the current one.
        private func discard(_ route: Route, keeping current: Route? = nil) {
            let kept = current?.keys ?? state.withLock { $0.route.keys }
            hub.remove(self, keys: route.keys.subtracting(kept))
        }
    }

    extension InotifyEvent {
        /// What the event means to a path whose file, or last name, it concerns; without either, it concerns the way there.
        func signals(isFile: Bool, isLast: Bool) -> FileWatcherSignals {
            if !mask.isDisjoint(with: .overflow) || !(isFile || isLast) { return .rerouted }
            var signals: FileWatcherSignals = []
            if !mask.isDisjoint(with: [.modify, .attributes]) { signals.insert(.written) }
            if !mask.isDisjoint(with: .closeWrite) { signals.insert(.closed) }
            if isLast, !mask.isDisjoint(with: [.create, .attributes]) { signals.insert(.created) }
            if !mask.isDisjoint(with: [.delete, .moved, .selfGone, .unmount, .ignored]) { signals.insert(.replaced) }
            return signals
        }
    }
#endif
