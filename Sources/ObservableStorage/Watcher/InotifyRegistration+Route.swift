#if os(Linux)
    // Resolving the path, and watching everything on it.
    extension InotifyRegistration {
        /// The watches of the path, and the result of resolving it.
        struct Route {
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
            var mountedFile: String?

            /// The keys that this route needs and the other one does not.
            func keys(beyond other: Route) -> Set<WatchKey> {
                // Usually only the file differs, and the sets share their storage.
                var keys = folderKeys == other.folderKeys ? [] : folderKeys.subtracting(other.folderKeys)
                if let fileKey, fileKey != other.fileKey { keys.insert(fileKey) }
                return keys
            }
        }

        /// Watches the current file; returns nil if it is a link or a folder, or does not exist, so that the path has to be resolved again.
        func watchFileAgain(_ current: Route) throws(WatchError) -> Route? {
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
        func watchPath() throws(WatchError) -> Route {
            try repeated { () throws(WatchError) in try attempt(from: Route(), walk) }
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
    }
#endif
