#if os(Linux)

    /// The watches that one path needs: each folder on the path, for the name looked up in it, and the file.
    final class InotifyRegistration: WatchRegistration {
        private typealias WatchKey = InotifyHub.WatchKey

        /// The watches of the path, and the result of resolving it.
        private struct Route {
            var folderKeys: Set<WatchKey> = []
            /// The last name of the path, once every folder before it exists, and the key of its folder.
            var last: ResolvedPath?
            var lastKey: WatchKey?
            var fileKey: WatchKey?
            var isPartial = false
            /// Whether the folder above the one of the last name is watched as well.
            var isFolderWatched = false
            var target = TargetState.ready
            /// Each link that was followed, and the last name looked up: every other name is on the path to one of these.
            var ends: [String] = []
            /// The file, if it is a mount point.
            var mountedFile: String?

            /// The keys that this route needs and the other one does not.
            func keys(beyond other: Route) -> Set<WatchKey> {
                // Usually only the file differs, and the sets share their storage.
                var keys = folderKeys == other.folderKeys ? [] : folderKeys.subtracting(other.folderKeys)
                if let fileKey, fileKey != other.fileKey { keys.insert(fileKey) }
                return keys
            }
        }

        // A path that changes more often while it is resolved is unwatchable.
        private static let maximumAttempts = 64

        private let hub: InotifyHub
        private let path: String
        /// Whether a missing file may be created at the path, rather than renamed to it.
        private let reportsCreation: Bool
        private let handler: @Sendable (PathEvents) -> Void
        /// The current route, whether a new one is being created, which may miss concurrent mounts, and whether watching has ended.
        private let state = Lock<(route: Route, isUpdating: Bool, isCancelled: Bool)>((Route(), false, false))

        init(hub: InotifyHub, path: String, reportsCreation: Bool, handler: @escaping @Sendable (PathEvents) -> Void) {
            self.hub = hub
            self.path = path
            self.reportsCreation = reportsCreation
            self.handler = handler
        }

        var isPartial: Bool {
            !hub.reportsMounts || state.withLock { $0.route.isPartial }
        }

        var mountedFile: String? {
            state.withLock { $0.route.mountedFile }
        }

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
                let paused = hub.pause(InotifyEvent.renaming, of: key, at: last.folder, for: self)
            else {
                _ = try body()
                return false
            }
            let file: FileIdentity?
            do throws(Failure) {
                defer { hub.resume(paused) }
                file = try body()
            } catch {
                handler(.replaced)
                throw error
            }
            // Another program may have replaced it before events were reported again.
            if let file, hub.file(at: last)?.hasSameContent(as: file) == true { return true }
            handler(.replaced)
            return false
        }

        func pauseWrites() -> (@Sendable () -> Void)? {
            let route = state.withLock { $0.route }
            guard let last = route.last, let key = route.fileKey,
                let paused = hub.pause(InotifyEvent.writing, of: key, at: last.path, for: self)
            else { return nil }
            return { [hub] in hub.resume(paused) }
        }

        func cancel() {
            let route = state.withLock { state in
                defer { state.route = Route() }
                state.isCancelled = true
                return state.route
            }
            hub.remove(self, keys: route.keys(beyond: Route()))
        }

        /// Processes an event that concerns this path. Called by the hub, on its queue, without its lock.
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

        /// Watches the current file; returns nil if it is a link or a folder, or does not exist, so that the path has to be resolved again.
        private func watchFileAgain(_ current: Route) throws(WatchError) -> Route? {
            guard let last = current.last else { return nil }
            return try attempt(from: current) { route throws(WatchError) in
                // Looked up first: its folder reports a later removal, but may not be watched for new names.
                guard let status = try hub.files.watchedEntry(at: last.path)?.status, status.isTarget else { return false }
                try watchFile(last, in: &route)
                // It may have been missing before, for which its folder has more events than it needs now.
                if route.fileKey != nil, route.isFolderWatched { _ = try watchFolder(of: last, for: InotifyEvent.folderOfFile, in: &route) }
                route.target = TargetState(of: status)
                return true
            }
        }

        /// Resolves and watches the whole path, until it does not change meanwhile.
        private func watchPath() throws(WatchError) -> Route {
            for _ in 0..<Self.maximumAttempts {
                if let route = try attempt(from: Route(), walk) { return route }
            }
            throw WatchError(reason: "the folders on its path keep changing")
        }

        /// Extends a route by a closure. Watches that it has added are ended if it fails, or returns false.
        private func attempt(
            from route: Route, _ extend: (inout Route) throws(WatchError) -> Bool
        ) throws(WatchError) -> Route? {
            var route = route
            do throws(WatchError) {
                if try extend(&route) { return route }
            } catch {
                discard(route)
                throw error
            }
            discard(route)
            return nil
        }

        /// Watches each folder before looking up a name in it, so that no change in between is missed; returns false if a folder was
        /// removed.
        private func walk(_ route: inout Route) throws(WatchError) -> Bool {
            var walk = PathWalk(path)
            var devices: Set<UInt64> = []
            var (end, isEndWatched) = ("/", false)
            while let step = walk.next() {
                // Changes of the folder's own permissions are events of the folder above.
                route.isFolderWatched = step.folder == end && isEndWatched
                let isEnd = walk.last != nil && route.isFolderWatched
                var folder = try watchFolder(of: step, for: isEnd ? InotifyEvent.folderOfFile : InotifyEvent.folder, in: &route)
                var entry = try hub.files.watchedEntry(at: step.path)
                if entry == nil, reportsCreation || walk.last == nil {
                    folder = try watchFolder(of: step, for: InotifyEvent.folderOfMissing, in: &route)
                    entry = try hub.files.watchedEntry(at: step.path)
                } else if isEnd, entry?.status.isTarget == false {
                    folder = try watchFolder(of: step, for: InotifyEvent.folder, in: &route)
                    entry = try hub.files.watchedEntry(at: step.path)
                }
                guard folder.key != nil || folder.isForbidden else { return false }
                // A folder without read permission cannot be watched, which matters unless the name in it is that of a folder.
                if folder.isForbidden, entry?.status.kind != .folder {
                    throw WatchError(reason: "\(step.folder): not readable", path: step.folder)
                }
                (route.last, route.lastKey) = folder.key == nil ? (nil, nil) : (walk.last, walk.last.flatMap { _ in folder.key })
                if let device = entry?.status.identity.device, devices.insert(device).inserted {
                    try requireReports(of: device, at: step.path, in: &route)
                }
                if entry?.status.kind == .link { route.ends.append(step.path) }
                (end, isEndWatched) = (step.path, folder.key != nil)
                walk.found(entry?.status.kind, target: entry?.target)
                route.target = TargetState(of: entry?.status)
            }
            route.ends.append(end)
            guard let file = walk.file else { return true }
            try watchFile(file, in: &route)
            if hub.calls.isMountPoint(file.path) { route.mountedFile = file.path }
            return true
        }

        private func watchFolder(
            of step: ResolvedPath, for mask: UInt32, in route: inout Route
        ) throws(WatchError) -> (key: WatchKey?, isForbidden: Bool) {
            do throws(WatchError) {
                let key = try hub.add(self, path: step.folder, name: step.name, for: mask)
                if let key { route.folderKeys.insert(key) }
                return (key, false)
            } catch let error where error.isForbidden {
                return (nil, true)
            }
        }

        /// Records whether some changes of a file system are not reported; throws if they can be made remotely.
        private func requireReports(of device: UInt64, at path: String, in route: inout Route) throws(WatchError) {
            guard let type = hub.calls.fileSystemType(device) else { return }
            if MountInfo.isRemote(type) { throw WatchError(reason: "\(path) is on \(type), which reports no changes by other machines") }
            if MountInfo.isLayered(type) { route.isPartial = true }
        }

        /// Watches the file itself, if it exists and is readable; its folder reports changes of that.
        private func watchFile(_ file: ResolvedPath, in route: inout Route) throws(WatchError) {
            route.fileKey = nil
            do throws(WatchError) {
                route.fileKey = try hub.add(self, path: file.path, name: nil, for: InotifyEvent.file)
            } catch let error where error.isForbidden {
                // Its folder reports when its permissions change.
                _ = try watchFolder(of: file, for: InotifyEvent.folder, in: &route)
            }
        }

        /// Ends the watches of a route that the current one does not need.
        private func discard(_ route: Route) {
            let kept = state.withLock { $0.route }
            hub.remove(self, keys: route.keys(beyond: kept))
        }
    }
#endif
