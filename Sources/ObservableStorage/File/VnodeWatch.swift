#if canImport(Darwin)
    import Darwin
    import Dispatch

    /// One folder or file that is held open and watched.
    final class VnodeWatch: Sendable {
        /// Why something is watched.
        enum Role: Sendable, Hashable {
            /// A folder that is only passed: whether it stays where it is.
            case passage
            /// A folder in which a link, the file or a missing name is looked up: also what names it has.
            case directory
            /// The file: all that happens to it.
            case file

            var events: DispatchSource.FileSystemEvent {
                switch self {
                case .passage: [.delete, .rename, .revoke, .attrib]
                case .directory: [.delete, .rename, .revoke, .attrib, .write, .link]
                case .file: [.delete, .rename, .revoke, .attrib, .write, .extend, .link]
                }
            }
        }

        /// What is held open.
        let identity: FileWatcherIdentity
        private let source: FileWatcherSource

        /// Opens what is at the path; nil if it is gone.
        init?(
            path: String, role: Role, queue: DispatchQueue, signal: @escaping @Sendable (FileWatcherSignals) -> Void
        ) throws(FileWatcherObstacle) {
            // The trail is free of links, so a link here has just been put there.
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else {
                let code = errno
                guard [ENOENT, ENOTDIR, ELOOP].contains(code) else { throw FileWatcherObstacle(path: path, code: code) }
                return nil
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                let code = errno
                close(descriptor)
                throw FileWatcherObstacle(path: path, code: code)
            }
            identity = FileWatcherIdentity(status)
            let events = DispatchSource.makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: role.events, queue: queue)
            // What happened before the kernel knew of the source is found by following the path once more.
            events.setRegistrationHandler { signal(.rerouted) }
            source = FileWatcherSource(events, released: { _ = close(descriptor) }) { data in
                signal(role.signals(of: DispatchSource.FileSystemEvent(rawValue: data)))
            }
        }

        func cancel() {
            source.cancel()
        }
    }

    extension VnodeWatch.Role {
        /// What events mean to the path.
        func signals(of events: DispatchSource.FileSystemEvent) -> FileWatcherSignals {
            var signals: FileWatcherSignals = []
            if self == .file, !events.isDisjoint(with: [.write, .extend, .attrib]) { signals.insert(.written) }
            if self != .file || !events.isDisjoint(with: [.delete, .rename, .revoke, .link]) { signals.insert(.rerouted) }
            return signals
        }
    }
#endif
