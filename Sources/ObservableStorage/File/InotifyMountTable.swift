#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The file systems of this process, read again only when one was mounted or unmounted.
    final class InotifyMountTable: Sendable {
        private struct State {
            var descriptor: Int32?
            var mounts: [UInt64: InotifyMount] = [:]
            var points: Set<String> = []
        }

        static let shared = InotifyMountTable()

        private let state = Guarded(State())

        /// The file system with a file's device number; local if it is unknown, as the parts of a btrfs are.
        func mount(of device: UInt64) -> InotifyMount {
            state.withLock { state in
                Self.update(&state)
                return state.mounts[device] ?? .local
            }
        }

        /// Whether something is mounted over a folder or file.
        ///
        /// - Parameter path: absolute and free of links.
        func isMountPoint(_ path: String) -> Bool {
            state.withLock { state in
                Self.update(&state)
                return state.points.contains(path)
            }
        }

        /// How far each device can be trusted; of several mounts of one, the first counts.
        static func mounts(_ infos: [MountInfo]) -> [UInt64: InotifyMount] {
            Dictionary(infos.map { ($0.device, InotifyMount(type: $0.type)) }) { first, _ in first }
        }

        private static func update(_ state: inout State) {
            guard isOutdated(&state), let descriptor = state.descriptor else { return }
            let infos = MountInfo.all(from: descriptor)
            state.mounts = mounts(infos)
            state.points = Set(infos.map(\.point))
        }

        private static func isOutdated(_ state: inout State) -> Bool {
            guard let descriptor = state.descriptor else {
                // It stays open for as long as the process lives: it is what tells that something was mounted.
                let descriptor = MountInfo.openFile()
                state.descriptor = descriptor < 0 ? nil : descriptor
                return true
            }
            var request = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            return poll(&request, 1, 0) != 0
        }
    }
#endif
