#if os(Linux)
    import Dispatch
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// How the process's one inotify instance is used.
    @Suite("FileWatcher: inotify", .timeLimit(.minutes(5)))
    struct FileWatcherInotifyTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.plist")
        }

        @Test("A thousand watchers share one instance, hear their own file only, and leave nothing")
        func thousandWatchers() async throws {
            let count = 1000
            let told = Inbox<Int>()
            for number in 0..<count { try Disk.makeFolder(folder.path("\(number)")) }
            let queue = DispatchQueue(label: "test")
            var watchers = (0..<count).map { number in
                FileWatcher(path: folder.path("\(number)/app.plist"), queue: queue) { _ in told.put(number) }
            }
            #expect(Kernel.instances(watching: folder.url.path) == 1)
            #expect(watchers.allSatisfy { $0.mechanism == .inotify })
            let last = try await WatchProbe(path)
            told.takeAll()
            for number in stride(from: 0, to: count, by: 100) { try Disk.replace(folder.path("\(number)/app.plist"), "one") }
            try await last.passAll()
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            #expect(Set(told.takeAll()) == Set(stride(from: 0, to: count, by: 100)))
            #expect(Kernel.isWatched(folder.path("100")) && Kernel.isWatched(folder.path("100/app.plist")))
            watchers = []
            last.watcher.cancel()
            #expect(!Kernel.isWatched(folder.url.path))
            let paths = (0..<count).map { folder.path("\($0)") } + [folder.path("100/app.plist")]
            #expect(Kernel.watched(among: paths).isEmpty)
        }

        @Test("Thousands of watchers, opened and dropped, leave no descriptor and no watch")
        func churn() async throws {
            try Disk.write(path, "one")
            for _ in 0..<3000 {
                let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test")) { _ in }
                watcher.cancel()
            }
            #expect(!Kernel.isWatched(path))
            #expect(!Kernel.isWatched(folder.url.path))
            #expect(!Kernel.descriptors().contains { $0.hasPrefix(folder.url.path) })
        }

        @Test("A stream that is dropped watches no more")
        func droppedStream() async throws {
            do {
                var events = FileWatcher.events(at: path).makeAsyncIterator()
                #expect(await events.next() == .lookAgain)
                #expect(Kernel.isWatched(folder.url.path))
                _ = events
            }
            #expect(!Kernel.isWatched(folder.url.path))
        }

        @Test("A stream that was never read watches no more once it is dropped")
        func unreadStream() async throws {
            do { _ = FileWatcher.events(at: path) }
            #expect(!Kernel.isWatched(folder.url.path))
        }

        @Test("A cancelled reader's stream watches no more")
        func cancelledStream() async throws {
            let stream = FileWatcher.events(at: path)
            let begun = Inbox<Bool>()
            let task = Task {
                for await _ in stream { begun.put(true) }
            }
            _ = await begun.first { $0 }
            task.cancel()
            await task.value
            #expect(!Kernel.isWatched(folder.url.path))
        }

        @Test("A replaced file is watched no more")
        func oldFile() async throws {
            try Disk.write(path, "one")
            try Disk.hardLink(folder.path("old"), to: path)
            let probe = try await WatchProbe(path)
            #expect(Kernel.isWatched(folder.path("old")))
            try Disk.replace(path, "two")
            #expect(await probe.sees("two"))
            #expect(!Kernel.isWatched(folder.path("old")))
            #expect(Kernel.isWatched(path))
        }

        @Test("A folder that is no longer on the path is watched no more")
        func oldFolder() async throws {
            try Disk.makeFolder(folder.path("a"))
            try Disk.write(folder.path("a/app.plist"), "one")
            let probe = try await WatchProbe(folder.path("a/app.plist"))
            try Disk.move(folder.path("a"), folder.path("away"))
            #expect(await probe.sees(nil))
            #expect(!Kernel.isWatched(folder.path("away")))
            #expect(!Kernel.isWatched(folder.path("away/app.plist")))
        }

        @Test("A child process inherits no descriptor")
        func children() async throws {
            let probe = try await WatchProbe(path)
            let flags = try #require(Kernel.instanceFlags())
            #expect(flags & O_CLOEXEC != 0)
            let child = try Subprocess.run("ls", ["-l", "/proc/self/fd"])
            #expect(child.status == 0)
            #expect(!child.text.contains("inotify"))
            probe.watcher.cancel()
        }

        @Test("When notices are lost, everybody looks, and watches anew")
        func overflow() async throws {
            let pipe = try FakeInotify()
            try Disk.write(path, "one")
            let options = FileWatcherOptions(notifier: InotifyHub(calls: pipe.calls))
            let first = Inbox<FileWatcher.Event>()
            let second = Inbox<FileWatcher.Event>()
            let queue = DispatchQueue(label: "test")
            let watchers = [
                FileWatcher(path: path, queue: queue, options: options) { first.put($0) },
                FileWatcher(path: folder.path("other"), queue: queue, options: options) { second.put($0) },
            ]
            #expect(await first.first { _ in true } == .lookAgain)
            #expect(await second.first { _ in true } == .lookAgain)
            let before = pipe.watchCalls
            pipe.send(watch: -1, mask: UInt32(IN_Q_OVERFLOW))
            #expect(await first.first { _ in true } == .lookAgain)
            #expect(await second.first { _ in true } == .lookAgain)
            #expect(pipe.watchCalls > before)
            for watcher in watchers { watcher.cancel() }
        }

        @Test("A flood of events that overflows the queue ends in a look at the last state")
        func flood() async throws {
            try Disk.write(path, "one")
            // An instance of its own, so that no other test's watchers have to look.
            let probe = try await WatchProbe(path, FileWatcherOptions(notifier: InotifyHub(calls: .system)))
            let other = folder.path("other")
            try Disk.write(other, "")
            let limit = try #require(Int(Disk.read("/proc/sys/fs/inotify/max_queued_events")?.split(separator: "\n").first ?? ""))
            // Two names in turn, so that equal events are not merged.
            for number in 0..<min(limit, 20_000) {
                try number.isMultiple(of: 2) ? Disk.move(other, other + "2") : Disk.move(other + "2", other)
            }
            try Disk.replace(path, "last")
            #expect(await probe.sees("last"))
        }

        @Test("When no watches or instances are left, a timer looks, and it is said once", arguments: [ENOSPC, EMFILE, ENFILE, ENOMEM])
        func exhausted(code: Int32) async throws {
            var calls = try FakeInotify().calls
            if code == ENOSPC { calls.watch = { _, _, _ in -code } } else { calls.open = { -code } }
            try await expectFallback(calls: calls)
        }

        @Test("When watches run out halfway, the others are given back")
        func exhaustedHalfway() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            let watch = calls.watch
            calls.watch = { instance, path, mask in pipe.watchCalls < 2 ? watch(instance, path, mask) : -ENOSPC }
            try await expectFallback(calls: calls)
            #expect(pipe.watchCalls == 2)
            #expect(pipe.live.isEmpty)
        }

        @Test("When watches run out later, a timer takes over")
        func exhaustedLater() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            let watch = calls.watch
            let exhaustion = Box(false)
            calls.watch = { instance, path, mask in exhaustion.flag.withLock { $0 } ? -ENOSPC : watch(instance, path, mask) }
            try Disk.write(path, "one")
            let options = FileWatcherOptions(notifier: InotifyHub(calls: calls), pollInterval: .milliseconds(5))
            let probe = try await WatchProbe(path, options)
            #expect(probe.watcher.mechanism == .inotify)
            exhaustion.flag.withLock { $0 = true }
            pipe.send(watch: -1, mask: UInt32(IN_Q_OVERFLOW))
            #expect(
                await probe.reports.first { _ in true }?.event
                    == .fallback(.unwatchable(file: path, reason: "no inotify watches are left (fs.inotify.max_user_watches)")))
            #expect(probe.watcher.mechanism == .polling)
            #expect(pipe.live.isEmpty)
            try Disk.write(path, "three")
            #expect(await probe.sees("three"))
        }

        @Test("Where others make changes from elsewhere, a timer looks")
        func remote() async throws {
            var calls = try FakeInotify().calls
            calls.mount = { _ in .remote(type: "nfs4") }
            try await expectFallback(calls: calls)
        }

        @Test("Where a layer may be changed underneath, a timer looks as well")
        func layered() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            calls.mount = { _ in .layered }
            try Disk.write(path, "one")
            let options = FileWatcherOptions(notifier: InotifyHub(calls: calls), layerInterval: .milliseconds(5))
            let probe = try await WatchProbe(path, options)
            #expect(probe.watcher.mechanism == .inotify)
            // The pipe never tells.
            try Disk.replace(path, "two")
            #expect(await probe.sees("two"))
            #expect(!probe.reports.takeAll().contains { $0.event != .lookAgain })
        }

        @Test("An ancestor that may be passed but not read is skipped, the file's folder is not")
        func unreadable() async throws {
            try Disk.makeFolder(folder.path("a/b"))
            let file = folder.path("a/b/app.plist")
            for (name, expected) in [("a", FileWatcher.Mechanism.inotify), ("a/b", .polling)] {
                let forbidden = folder.path(name)
                var calls = try FakeInotify().calls
                let watch = calls.watch
                calls.watch = { instance, path, mask in path == forbidden ? -EACCES : watch(instance, path, mask) }
                let watcher = FileWatcher(
                    path: file, queue: DispatchQueue(label: "test"), options: FileWatcherOptions(notifier: InotifyHub(calls: calls))
                ) { _ in }
                #expect(watcher.mechanism == expected)
                watcher.cancel()
            }
        }

        private func expectFallback(calls: InotifyCalls) async throws {
            try Disk.write(path, "one")
            let options = FileWatcherOptions(notifier: InotifyHub(calls: calls), pollInterval: .milliseconds(5))
            let reports = Inbox<WatchProbe.Report>()
            let path = path
            let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) {
                reports.put(WatchProbe.Report(event: $0, content: Disk.read(path)))
            }
            #expect(watcher.mechanism == .polling)
            let first = await reports.first { _ in true }?.event
            guard case .fallback(.unwatchable(file: path, _)) = first else {
                Issue.record("\(String(describing: first)) instead of a fallback")
                return
            }
            for number in 0..<5 {
                try Disk.replace(path, "\(number)")
                #expect(await reports.first { $0.event != .lookAgain || $0.content == "\(number)" }?.event == .lookAgain)
            }
            watcher.cancel()
        }

        @Test("What the kernel wrote is read event by event")
        func parsing() {
            var bytes = FakeInotify.event(watch: 3, mask: UInt32(IN_MOVED_TO), name: "app.plist")
            bytes += FakeInotify.event(watch: -1, mask: UInt32(IN_Q_OVERFLOW), name: nil)
            bytes += FakeInotify.event(watch: 4, mask: UInt32(IN_CREATE), name: "sixteen letters.")
            for cut in 0...bytes.count {
                var events: [InotifyEvent] = []
                bytes[..<cut].withUnsafeBytes { InotifyEvent.forEach(in: $0) { events.append($0) } }
                #expect(events.count <= 3)
                if cut == bytes.count {
                    #expect(events.map(\.watch) == [3, -1, 4])
                    #expect(events.map(\.name) == ["app.plist", nil, "sixteen letters."])
                    #expect(events.map(\.mask) == [InotifyEvent.Mask(rawValue: UInt32(IN_MOVED_TO)), .overflow, .create])
                }
            }
        }

        @Test("A watch is kept as long as anybody uses it")
        func table() {
            final class Subscriber {}
            let (first, second) = (Subscriber(), Subscriber())
            var table = InotifyTable<Subscriber>()
            let (folder, file) = (
                InotifyTable<Subscriber>.Watched(watch: 1, name: "a"), InotifyTable<Subscriber>.Watched(watch: 1, name: nil)
            )
            table.insert(first, for: folder)
            table.insert(first, for: folder)
            table.insert(second, for: folder)
            table.insert(second, for: file)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .create, name: "a")).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .create, name: "b")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 2, mask: .create, name: "a")).isEmpty)
            #expect(table.subscribers(of: InotifyEvent(watch: 1, mask: .selfGone, name: nil)).count == 2)
            #expect(table.subscribers(of: InotifyEvent(watch: -1, mask: .overflow, name: nil)).count == 2)
            let removals = [(first, folder), (first, folder), (second, file), (second, folder)].map { table.remove($0.0, for: $0.1) }
            #expect(removals == [false, false, false, true])
            #expect(table.isEmpty)
            table.insert(first, for: folder)
            table.forget(1)
            #expect(table.isEmpty)
        }

        @Test("The file system is known by its device")
        func mounts() {
            let text = """
                22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
                23 22 0:50 /x /home rw shared:1 master:2 - nfs4 server:/x rw
                24 22 0:31 / /merged rw - overlay overlay rw,lowerdir=/a
                25 22 0:60 / /mnt rw - fuse.sshfs host: rw
                26 22 0:60 / /again rw - ext4 host: rw
                27 22 259:300 / /far rw - cifs host: rw
                28 22 garbage - x
                29 22 1:1
                """
            #expect(
                InotifyMountTable.parse(text) == [
                    0xFE00: .local, 0x32: .remote(type: "nfs4"), 0x1F: .layered, 0x3C: .remote(type: "fuse.sshfs"),
                    0x11_032C: .remote(type: "cifs"),
                ])
        }

        @Test("The kernel's own file systems are known")
        func ownMounts() throws {
            var status = stat()
            try #require(stat("/proc/self", &status) == 0)
            let text = try #require(Disk.read("/proc/self/mountinfo"))
            #expect(InotifyMountTable.parse(text)[UInt64(status.st_dev)] == .local)
            #expect(InotifyMountTable.shared.mount(of: UInt64(status.st_dev)) == .local)
        }
    }

    /// A flag to be shared.
    private final class Box: Sendable {
        let flag: Guarded<Bool>

        init(_ flag: Bool) {
            self.flag = Guarded(flag)
        }
    }
#endif
