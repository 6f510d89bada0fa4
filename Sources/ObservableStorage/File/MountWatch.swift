#if os(Linux)
    import Dispatch
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Tells where file systems are mounted and unmounted, for as long as the process lives.
    ///
    /// For each open descriptor of `/proc/self/mountinfo` the kernel tells that once, to the first poll for `POLLPRI`, which Dispatch cannot
    /// make. An `epoll` descriptor in between, which Dispatch can read, is polled twice each time Dispatch arms its source again: what
    /// happened just before is told to the first poll and lost. So one thread waits, a worker of Dispatch.
    final class MountWatch: Sendable {
        /// Gets the paths at which something has changed, and returns whether it wants to hear more.
        typealias Listener = @Sendable (_ points: Set<String>) -> Bool

        private struct State {
            var isRunning = false
            var listeners: [Listener] = []
        }

        static let shared = MountWatch()

        // Where containers come and go every moment, what is mounted is read twenty times a second at most.
        private static let pause: UInt32 = 50_000

        private let queue = DispatchQueue(label: "ObservableStorage.MountWatch")
        private let state = Guarded(State())

        /// Calls a listener from now on, on a queue of its own; false if the system does not tell, as without `/proc`.
        func add(_ listener: @escaping Listener) -> Bool {
            state.withLock { state in
                if !state.isRunning { state.isRunning = start() }
                if state.isRunning { state.listeners.append(listener) }
                return state.isRunning
            }
        }

        private func start() -> Bool {
            let descriptor = MountInfo.openFile()
            guard descriptor >= 0 else { return false }
            let mounts = Set(MountInfo.all(from: descriptor))
            queue.async { self.run(descriptor, mounts) }
            return true
        }

        private func run(_ descriptor: Int32, _ start: Set<MountInfo>) {
            var mounts = start
            while Self.wait(descriptor) {
                let now = Set(MountInfo.all(from: descriptor))
                let changed = mounts.symmetricDifference(now)
                mounts = now
                if !changed.isEmpty { tell(Set(changed.map(\.point))) }
                usleep(Self.pause)
            }
            state.withLock { $0.isRunning = false }
        }

        /// Returns when something was mounted or unmounted; false if the descriptor was closed by someone else.
        private static func wait(_ descriptor: Int32) -> Bool {
            var request = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            while poll(&request, 1, -1) < 0, errno == EINTR {}
            return request.revents & Int16(POLLPRI) != 0
        }

        private func tell(_ points: Set<String>) {
            let listeners = state.withLock { state in
                defer { state.listeners = [] }
                return state.listeners
            }
            let wanted = listeners.filter { $0(points) }
            state.withLock { $0.listeners += wanted }
        }
    }
#endif
