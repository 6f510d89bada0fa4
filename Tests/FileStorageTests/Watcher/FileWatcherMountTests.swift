#if os(Linux)
    import Dispatch
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// Simulated mounts on the path; `MountTests` use real ones.
    @Suite("FileWatcher: mounts", .timeLimit(.minutes(10)))
    struct FileWatcherMountTests {
        let folder: TemporaryFolder
        let path: String
        private let mounts = FakeMounts()

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("a/app.plist")
            try Disk.writeDeep(path, "one")
        }

        private func calls(_ pipe: FakeInotify) -> InotifyCalls {
            var calls = pipe.calls
            calls.watchMounts = { [mounts] in mounts.add($0) }
            return calls
        }

        @Test("Mounting over the file, a folder of its path or a link to it resolves the path again, and other mounts do not")
        func points() throws {
            try Disk.link(folder.path("link"), to: "a")
            let signals = Inbox<PathEvents>()
            let arming = try InotifyHub(calls: calls(FakeInotify())).register(folder.path("link/app.plist")) { signals.put($0) }
            for point in ["/", folder.url.path, folder.path("link"), folder.path("a"), path] {
                #expect(mounts.tell(["/none", point]))
                #expect(signals.takeAll() == [.rerouted], "\(point)")
            }
            for point in ["/none", folder.url.path + "x", folder.path("other"), folder.path("link/app"), path + "/x", path + "x"] {
                #expect(mounts.tell([point]))
                #expect(signals.takeAll().isEmpty, "\(point)")
            }
            arming.cancel()
            _ = mounts.tell([path])
            #expect(signals.takeAll().isEmpty)
        }

        @Test("Mounting where a file is missing is reported as well")
        func missing() throws {
            let signals = Inbox<PathEvents>()
            let arming = try InotifyHub(calls: calls(FakeInotify())).register(folder.path("a/none/app.plist")) { signals.put($0) }
            #expect(mounts.tell([folder.path("a")]))
            #expect(signals.takeAll() == [.rerouted])
            arming.cancel()
        }

        @Test("Mounting while the path is resolved causes another resolution, wherever it is mounted")
        func whileWalking() throws {
            let signals = Inbox<PathEvents>()
            var calls = try calls(FakeInotify())
            calls.fileSystemType = { [mounts] _ in
                _ = mounts.tell(["/none"])
                return "ext4"
            }
            let arming = try InotifyHub(calls: calls).register(path) { signals.put($0) }
            #expect(signals.takeAll().contains(.rerouted))
            #expect(mounts.tell(["/none"]))
            #expect(signals.takeAll().isEmpty)
            arming.cancel()
        }

        @Test("A cancelled watcher is not notified")
        func end() throws {
            do {
                let arming = try InotifyHub(calls: calls(FakeInotify())).register(path) { _ in }
                #expect(mounts.tell([path]))
                arming.cancel()
            }
            #expect(!mounts.tell([path]))
        }

        @Test("Where mounts are not reported, the path is also polled, and what polling finds is watched")
        func untold() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            calls.watchMounts = { _ in false }
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service(), layerInterval: .milliseconds(5))
            let probe = try await WatchProbe(path, options)
            #expect(probe.watcher.mechanism == .inotify)
            let watchCalls = pipe.watchCalls
            // The pipe sends no events.
            try Disk.replace(path, "two")
            #expect(await probe.sees("two"))
            #expect(pipe.watchCalls > watchCalls)
        }

        @Test("A file that is a mount point is reported once for each such mount")
        func mountedFile() async throws {
            let pipe = try FakeInotify()
            let isMounted = Lock(true)
            var calls = calls(pipe)
            calls.isMountPoint = { [path] in isMounted.withLock { $0 } && $0 == path }
            let events = Inbox<FileWatcher.Event>()
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service())
            let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { events.put($0) }
            #expect(await events.first { _ in true } == .incomplete(.mountedFile(file: path)))
            #expect(await events.first { _ in true } == .changed)
            for isThere in [true, false, true] {
                let wasThere = isMounted.withLock { isMounted in
                    defer { isMounted = isThere }
                    return isMounted
                }
                #expect(mounts.tell([path]))
                if isThere, !wasThere { #expect(await events.first { _ in true } == .incomplete(.mountedFile(file: path))) }
                #expect(await events.first { _ in true } == .changed)
            }
            watcher.cancel()
        }

        @Test("The kernel's list of mounts is read")
        func kernel() {
            #expect(MountTable.shared.add { _ in false } == FileManager.default.isReadableFile(atPath: "/proc/self/mountinfo"))
        }
    }

    /// Sends the events of a test instead of the kernel's.
    private final class FakeMounts: Sendable {
        private let listeners = Lock<[MountTable.Listener]>([])

        func add(_ listener: @escaping MountTable.Listener) -> Bool {
            listeners.withLock { $0.append(listener) }
            return true
        }

        /// Reports mount points, and returns whether there are observers left.
        func tell(_ points: Set<String>) -> Bool {
            listeners.withLock { $0 }.filter { $0(points) }.isEmpty == false
        }
    }
#endif
