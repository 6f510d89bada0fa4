#if os(Linux)
    /// The watches that one path needs: each folder on the path, for the name looked up in it, and the file.
    final class InotifyRegistration: WatchRegistration {
        let hub: InotifyHub
        let path: String
        /// Whether a missing file may be created at the path, rather than renamed to it.
        let reportsCreation: Bool
        private let handler: @Sendable (PathEvents) -> Void
        /// The current route, whether a new one is being created, which may miss concurrent mounts, and whether watching has ended.
        private let state = Lock<(route: Route, isUpdating: Bool, isCancelled: Bool)>((Route(), false, false))

        init(hub: InotifyHub, path: String, reportsCreation: Bool, handler: @escaping @Sendable (PathEvents) -> Void) {
            (self.hub, self.path, self.reportsCreation, self.handler) = (hub, path, reportsCreation, handler)
        }

        var isPartial: Bool { !hub.reportsMounts || state.withLock { $0.route.isPartial } }

        var mountedFile: String? { state.withLock { $0.route.mountedFile } }

        func update(after events: PathEvents) throws(WatchError) -> TargetState {
            let current = state.withLock { state in
                state.isUpdating = true
                return state.route
            }
            defer { state.withLock { $0.isUpdating = false } }
            if !events.contains(.rerouted), let route = try watchFileAgain(current) {
                return adopt(route)
            }
            return adopt(try watchPath())
        }

        func withoutEvents<Failure: Error>(_ body: () throws(Failure) -> FileIdentity?) throws(Failure) -> Bool {
            let route = state.withLock { $0.route }
            guard let last = route.last, let key = route.lastKey,
                let resume = hub.pause(InotifyEvent.renaming, of: key, at: last.folder, for: self)
            else {
                _ = try body()
                return false
            }
            let file: FileIdentity?
            do throws(Failure) {
                defer { resume() }
                file = try body()
            } catch {
                handler(.replaced)
                throw error
            }
            // Another program may have replaced it before events were reported again.
            if let file, hub.files.statusOrNil(at: last)?.identity.hasSameContent(as: file) == true { return true }
            handler(.replaced)
            return false
        }

        func pauseWrites() -> (@Sendable () -> Void)? {
            let route = state.withLock { $0.route }
            guard let last = route.last, let key = route.fileKey else { return nil }
            return hub.pause(InotifyEvent.writing, of: key, at: last.path, for: self)
        }

        func cancel() {
            let route = state.withLock { state in
                defer { state.route = Route() }
                state.isCancelled = true
                return state.route
            }
            hub.remove(self, keys: route.keys(beyond: Route()))
        }

        /// Processes an event that concerns this path. Called by the hub, on any thread, without its lock.
        func receive(_ event: InotifyEvent) {
            let (lastKey, fileKey) = state.withLock { ($0.route.lastKey, $0.route.fileKey) }
            let isLast = event.name != nil && lastKey == WatchKey(watch: event.watch, name: event.name)
            handler(event.events(isFile: fileKey?.watch == event.watch, isLast: isLast))
        }

        /// Processes the paths of mounts and unmounts. Called by the hub, on any thread, without its lock.
        func mountsChanged(at points: Set<String>) {
            let isConcerned = state.withLock { state in
                state.isUpdating || state.route.ends.contains { end in points.contains { Self.leads(end, through: $0) } }
            }
            if isConcerned { handler(.rerouted) }
        }

        private static func leads(_ path: String, through point: String) -> Bool {
            let (path, point) = (path.utf8, point.utf8)
            guard path.starts(with: point) else { return false }
            return point.count == 1 || path.count == point.count
                || path[path.index(path.startIndex, offsetBy: point.count)] == UInt8(ascii: "/")
        }

        /// Makes a route the current one, and ends the watches that only the previous one needed.
        private func adopt(_ route: Route) -> TargetState {
            let obsolete = state.withLock { state in
                // Cancelling ended the watches of the previous route only.
                guard !state.isCancelled else { return route.keys(beyond: Route()) }
                defer { state.route = route }
                return state.route.keys(beyond: route)
            }
            hub.remove(self, keys: obsolete)
            return route.target
        }

        /// Ends the watches of a route that the current one does not need.
        func discard(_ route: Route) {
            let kept = state.withLock { $0.route }
            hub.remove(self, keys: route.keys(beyond: kept))
        }
    }
#endif
