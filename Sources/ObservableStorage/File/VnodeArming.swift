#if canImport(Darwin)
    import Dispatch
    import Foundation

    /// The open folders and file that one path needs.
    ///
    /// A source takes effect some time after it was made, and says so: then the path is followed once more, until nothing new
    /// is met.
    final class VnodeArming: FileWatcherArming {
        private struct Place: Hashable {
            let path: String
            let role: VnodeWatch.Role
        }

        private struct State {
            var watches: [Place: VnodeWatch] = [:]
            var file = FileWatcherIdentity.missing
            var isCancelled = false
        }

        // How often a path may change under the walk before that is called unwatchable.
        private static let maximumAttempts = 64

        private let path: String
        private let signal: @Sendable (FileWatcherSignals) -> Void
        private let queue = DispatchQueue(label: "ObservableStorage.VnodeArming", qos: .userInitiated)
        private let state = Guarded(State())

        init(path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void) {
            self.path = path
            self.signal = signal
        }

        var isPartial: Bool { false }
        var mountedFile: String? { nil }

        func rearm(after signals: FileWatcherSignals) throws(FileWatcherObstacle) -> FileWatcherFound {
            for _ in 0..<Self.maximumAttempts {
                let (places, file) = try survey()
                if let found = try adopt(places, file) { return found }
            }
            throw FileWatcherObstacle(reason: "the folders on its path keep changing")
        }

        func cancel() {
            let watches = state.withLock { state in
                state.isCancelled = true
                defer { state.watches = [:] }
                return state.watches
            }
            for watch in watches.values { watch.cancel() }
        }

        /// Follows the path, and says what has to be watched as what it is now, and what the file is.
        private func survey() throws(FileWatcherObstacle) -> (places: [Place: FileWatcherIdentity], file: FileWatcherIdentity) {
            var places: [Place: FileWatcherIdentity] = [:]
            var devices: Set<UInt64> = []
            var file = FileWatcherIdentity.missing
            var walk = TrailWalk(path: path)
            while let step = walk.next() {
                let entry = try TrailEntry(path: step.path)
                if let device = entry.device, devices.insert(device).inserted { try requireLocal(step.path) }
                let role = entry.kind == .folder ? VnodeWatch.Role.passage : .directory
                places[Place(path: step.folder, role: role)] = try TrailEntry(path: step.folder).identity
                walk.found(entry)
                if walk.file != nil {
                    file = entry.identity
                    places[Place(path: step.path, role: .file)] = file
                }
            }
            return (places, file)
        }

        /// Opens what is not open yet, and lets go of the rest; nil if something was replaced meanwhile.
        private func adopt(_ places: [Place: FileWatcherIdentity], _ file: FileWatcherIdentity) throws(FileWatcherObstacle)
            -> FileWatcherFound?
        {
            let (current, oldFile) = state.withLock { ($0.watches, $0.file) }
            var watches: [Place: VnodeWatch] = [:]
            var isNew = false
            for (place, identity) in places {
                if let watch = current[place], watch.identity.isSameFile(as: identity) {
                    watches[place] = watch
                } else if let watch = try open(place) {
                    isNew = true
                    watches[place] = watch
                    guard watch.identity.isSameFile(as: identity) else { return nil }
                } else if place.role != .passage {
                    return nil
                }
            }
            let isUnchanged = !isNew && watches.count == current.count && file == oldFile
            let obsolete = state.withLock { state in
                guard !state.isCancelled else { return Array(watches.values) }
                let kept = Set(watches.values.map(ObjectIdentifier.init))
                let obsolete = state.watches.values.filter { !kept.contains(ObjectIdentifier($0)) }
                state.watches = watches
                state.file = file
                return obsolete
            }
            for watch in obsolete { watch.cancel() }
            if isUnchanged { return .unchanged }
            return file.isEmpty ? .empty : .ready
        }

        private func open(_ place: Place) throws(FileWatcherObstacle) -> VnodeWatch? {
            do throws(FileWatcherObstacle) {
                return try VnodeWatch(path: place.path, role: place.role, queue: queue, signal: signal)
            } catch {
                // A folder that may be passed but not read cannot be watched, which only matters for what is looked up in it.
                if place.role == .passage, error.isForbidden { return nil }
                throw error
            }
        }

        private func requireLocal(_ path: String) throws(FileWatcherObstacle) {
            do {
                let values = try URL(fileURLWithPath: path).resourceValues(forKeys: [.volumeIsLocalKey])
                guard values.volumeIsLocal == false else { return }
            } catch {
                // What cannot be told, because the file is just being replaced, is taken to be local.
                return
            }
            throw FileWatcherObstacle(reason: "\(path) is on a network file system, where others make changes unnoticed")
        }
    }
#endif
