#if os(Linux)
    import Foundation
    import Glibc

    @testable import ObservableStorage

    /// A pipe in place of an inotify instance: it sends the events of a test, and counts watches.
    final class FakeInotify: Sendable {
        /// The watch whose end the hub waits for when it is released.
        private static let end = "end"

        private struct State {
            var next: Int32 = 1
            var live: [Int32: String] = [:]
            var calls = 0
            var isOpened = false
        }

        private let state = Lock(State())
        private let reading: Int32
        private let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw CocoaError(.fileReadUnknown) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
            reading = ends[0]
            writing = ends[1]
        }

        deinit {
            close(writing)
        }

        /// The paths that are watched.
        var live: [String] {
            state.withLock { Array($0.live.values) }
        }

        /// The watch of a path.
        func watch(of path: String) -> Int32? {
            state.withLock { $0.live.first { $0.value == path }?.key }
        }

        /// Whether the other end has been closed.
        var isClosed: Bool {
            var request = pollfd(fd: writing, events: 0, revents: 0)
            return poll(&request, 1, 0) > 0 && request.revents & Int16(POLLERR) != 0
        }

        /// Waits until the other end has been closed.
        func waitUntilClosed() {
            var request = pollfd(fd: writing, events: 0, revents: 0)
            while poll(&request, 1, -1) < 0, errno == EINTR {}
        }

        /// The number of attempts to add a watch.
        var watchCalls: Int {
            state.withLock { $0.calls }
        }

        /// The kernel's calls; the instance may be opened once.
        var calls: InotifyCalls {
            InotifyCalls(
                open: { [self] in
                    // A second owner would close the descriptor again, when it may belong to another file.
                    state.withLock { state in
                        defer { state.isOpened = true }
                        return state.isOpened ? -EMFILE : reading
                    }
                },
                watch: { [self] _, path, mask in
                    state.withLock { state in
                        state.calls += 1
                        guard access(path, F_OK) == 0 else { return -ENOENT }
                        let path = mask == UInt32(IN_DELETE_SELF) ? Self.end : path
                        if let known = state.live.first(where: { $0.value == path }) { return known.key }
                        defer { state.next += 1 }
                        state.live[state.next] = path
                        return state.next
                    }
                },
                unwatch: { [self] _, watch in
                    let path = state.withLock { $0.live.removeValue(forKey: watch) }
                    // Which the kernel sends for each watch.
                    if path == Self.end { send(watch: watch, mask: UInt32(IN_IGNORED)) }
                    return path == nil ? -EINVAL : 0
                },
                fileSystemType: { _ in "ext4" },
                isMountPoint: { _ in false },
                watchMounts: { _ in true })
        }

        /// Sends an event.
        func send(watch: Int32, mask: UInt32, name: String? = nil) {
            let bytes = Self.event(watch: watch, mask: mask, name: name)
            _ = bytes.withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
        }

        /// An event as the kernel writes it.
        static func event(watch: Int32, mask: UInt32, name: String?) -> [UInt8] {
            var padded: [UInt8] = name.map { Array($0.utf8) + [0] } ?? []
            while !padded.count.isMultiple(of: 16) { padded.append(0) }
            var header = inotify_event()
            (header.wd, header.mask, header.cookie, header.len) = (watch, mask, 0, UInt32(padded.count))
            return withUnsafeBytes(of: header) { Array($0.prefix(16)) } + padded
        }
    }
#endif
