#if os(Linux)

    /// The watches that one path needs: each folder on the way for the name that is looked up in it, and the file.
    final class InotifyArming: FileWatcherArming {
        private typealias Watched = InotifyHub.Watched

        /// What one walk along the path came to.
        private struct Route {
            var folderKeys: Set<Watched> = []
            /// The file, or the name that could become it, and the folder's key for it.
            var last: TrailWalk.Step?
            var lastKey: Watched?
            var fileKey: Watched?
            var isPartial = false
            var found = FileWatcherFound.ready
            /// Each link that was followed, and the last name looked up: all that was looked up is on the way to one of them.
            var ends: [String] = []
            /// The file, if it is a mount of its own.
            var mountedFile: String?

            /// What this one needs and another one does not.
            func keys(beyond other: Route) -> Set<Watched> {
                // Most often only the file is another one, and comparing a set with itself costs nothing.
                var keys = folderKeys == other.folderKeys ? [] : folderKeys.subtracting(other.folderKeys)
                if let fileKey, fileKey != other.fileKey { keys.insert(fileKey) }
                return keys
            }
        }

        private struct State {
            var route = Route()
            /// Whether another route is being made, which may be missing what is mounted meanwhile.
            var isWalking = false
            var isCancelled = false
        }

        // How often a path may change under the walk before that is called unwatchable.
        private static let maximumAttempts = 64

        private let hub: InotifyHub
        private let path: String
        private let signal: @Sendable (FileWatcherSignals) -> Void
        private let state = Guarded(State())

        init(hub: InotifyHub, path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void) {
            self.hub = hub
            self.path = path
            self.signal = signal
        }

        var isPartial: Bool {
            !hub.isToldOfMounts || state.withLock { $0.route.isPartial }
        }

        var mountedFile: String? {
            state.withLock { $0.route.mountedFile }
        }

        func rearm(after signals: FileWatcherSignals) throws(FileWatcherObstacle) -> FileWatcherFound {
            let current = state.withLock { state in
                state.isWalking = true
                return state.route
            }
            defer { state.withLock { $0.isWalking = false } }
            if !signals.contains(.rerouted), let route = try follow(current) {
                return adopt(route)
            }
            return adopt(try follow())
        }

        func cancel() {
            let route = state.withLock { state in
                defer { state.route = Route() }
                state.isCancelled = true
                return state.route
            }
            hub.remove(self, keys: route.keys(beyond: Route()))
        }

        /// Takes an event that concerns this path; called by the hub, on its queue, without its lock.
        func receive(_ event: InotifyEvent) {
            let (lastKey, fileKey) = state.withLock { ($0.route.lastKey, $0.route.fileKey) }
            let isLast = event.name != nil && lastKey == Watched(watch: event.watch, name: event.name)
            signal(event.signals(isFile: fileKey?.watch == event.watch, isLast: isLast))
        }

        /// Takes the paths at which something was mounted or unmounted; called by the hub, on any thread, without its lock.
        func mountsChanged(at points: Set<String>) {
            let isConcerned = state.withLock { state in
                state.isWalking || state.route.ends.contains { end in points.contains { Self.leads(end, through: $0) } }
            }
            if isConcerned { signal(.rerouted) }
        }

        private static func leads(_ path: String, through point: String) -> Bool {
            let (path, point) = (path.utf8, point.utf8)
            guard path.starts(with: point) else { return false }
            return point.count == 1 || path.count == point.count
                || path[path.index(path.startIndex, offsetBy: point.count)] == UInt8(ascii: "/")
        }

        /// Makes a route the current one, and ends what only the one before needed.
        private func adopt(_ route: Route) -> FileWatcherFound {
            let obsolete = state.withLock { state in
                // Whoever cancelled gives up the route before this one.
                guard !state.isCancelled else { return route.keys(beyond: Route()) }
                defer { state.route = route }
                return state.route.keys(beyond: route)
            }
            hub.remove(self, keys: obsolete)
            return route.found
        }

        /// Watches the file that now bears the name; nil if it takes more, because the name is that of a link or a folder, or of nothing.
        private func follow(_ current: Route) throws(FileWatcherObstacle) -> Route? {
            guard let last = current.last else { return nil }
            return try attempt(from: current) { route throws(FileWatcherObstacle) in
                // Looked at first: of what goes after that, its folder tells; new names it does not tell unless it is asked.
                let entry = try TrailEntry(path: last.path)
                guard entry.kind == .file else { return false }
                try watchFile(last, in: &route)
                route.found = entry.isEmptyFile ? .empty : .ready
                return true
            }
        }

        /// Walks the whole path, as often as it takes.
        private func follow() throws(FileWatcherObstacle) -> Route {
            for _ in 0..<Self.maximumAttempts {
                if let route = try attempt(from: Route(), walk) { return route }
            }
            throw FileWatcherObstacle(reason: "the folders on its path keep changing")
        }

        /// Lets `arm` extend a route; what that added is given up again if it fails, or says that it did not get through.
        private func attempt(
            from route: Route, _ arm: (inout Route) throws(FileWatcherObstacle) -> Bool
        ) throws(FileWatcherObstacle) -> Route? {
            var route = route
            do throws(FileWatcherObstacle) {
                if try arm(&route) { return route }
            } catch {
                discard(route)
                throw error
            }
            discard(route)
            return nil
        }

        /// Watches each folder before looking into it, so that no change falls in between; false if one was gone.
        private func walk(_ route: inout Route) throws(FileWatcherObstacle) -> Bool {
            var walk = TrailWalk(path: path)
            var devices: Set<UInt64> = []
            var last = "/"
            while let step = walk.next() {
                var outcome = try watchFolder(of: step, for: .folder, in: &route)
                var entry = try TrailEntry(path: step.path)
                if entry.kind == .missing {
                    outcome = try watchFolder(of: step, for: .folderOfMissing, in: &route)
                    entry = try TrailEntry(path: step.path)
                }
                (route.last, route.lastKey) = (nil, nil)
                switch outcome {
                case .watching(let key):
                    if let last = walk.last { (route.last, route.lastKey) = (last, key) }
                case .forbidden: break
                case .gone: return false
                }
                // A folder that may be passed but not read cannot be watched, which only matters for what is looked up in it.
                if outcome == .forbidden, entry.kind != .folder {
                    throw FileWatcherObstacle(reason: "\(step.folder): not readable", path: step.folder)
                }
                if let device = entry.device, devices.insert(device).inserted {
                    try trust(hub.calls.mount(device), of: step, in: &route)
                }
                if case .link = entry.kind { route.ends.append(step.path) }
                last = step.path
                walk.found(entry)
                route.found = entry.isEmptyFile ? .empty : .ready
            }
            route.ends.append(last)
            guard let file = walk.file else { return true }
            try watchFile(file, in: &route)
            if hub.calls.isMountPoint(file.path) { route.mountedFile = file.path }
            return true
        }

        private func watchFolder(
            of step: TrailWalk.Step, for mask: InotifyEvent.Mask, in route: inout Route
        ) throws(FileWatcherObstacle) -> InotifyHub.Outcome {
            let outcome = try hub.add(self, path: step.folder, name: step.name, for: mask)
            if case .watching(let key) = outcome { route.folderKeys.insert(key) }
            return outcome
        }

        /// Notes how far a file system's notices go.
        private func trust(_ mount: InotifyMount, of step: TrailWalk.Step, in route: inout Route) throws(FileWatcherObstacle) {
            switch mount {
            case .local: break
            case .layered: route.isPartial = true
            case .remote(let type):
                throw FileWatcherObstacle(reason: "\(step.path) is on \(type), where others make changes unnoticed")
            }
        }

        /// Watches the file itself, if it is there and readable; its folder tells when that changes.
        private func watchFile(_ file: TrailWalk.Step, in route: inout Route) throws(FileWatcherObstacle) {
            route.fileKey = nil
            guard case .watching(let key) = try hub.add(self, path: file.path, name: nil, for: .file) else { return }
            route.fileKey = key
        }

        /// Gives up what a route needed beyond the current one.
        private func discard(_ route: Route) {
            let kept = state.withLock { $0.route }
            hub.remove(self, keys: route.keys(beyond: kept))
        }
    }

    extension InotifyEvent {
        /// What the event means to a path whose file, or last name, it concerns; without either, it concerns the way there.
        func signals(isFile: Bool, isLast: Bool) -> FileWatcherSignals {
            if !mask.isDisjoint(with: [.overflow, .unmount]) || !(isFile || isLast) { return .rerouted }
            var signals: FileWatcherSignals = []
            if !mask.isDisjoint(with: [.modify, .attributes]) { signals.insert(.written) }
            if !mask.isDisjoint(with: .closeWrite) { signals.insert(.closed) }
            if isLast, !mask.isDisjoint(with: [.create, .attributes]) { signals.insert(.created) }
            if isLast, !mask.isDisjoint(with: .movedTo) { signals.insert(.replaced) }
            if isLast, !mask.isDisjoint(with: [.delete, .movedFrom]) { signals.insert(.removed) }
            if !mask.isDisjoint(with: [.selfGone, .ignored]) { signals.insert(.ended) }
            return signals
        }
    }
#endif
