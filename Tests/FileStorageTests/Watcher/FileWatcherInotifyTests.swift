#if os(Linux)
    import Dispatch
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// The use of the process's inotify instance.
    @Suite("FileWatcher: inotify", .timeLimit(.minutes(10)))
    struct FileWatcherInotifyTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.plist")
        }

        @Test("A thousand watchers share one instance, are notified of their own file only, and leave nothing open")
        func thousandWatchers() async throws {
            let count = 1000
            let reported = Inbox<Int>()
            for number in 0..<count { try Disk.makeFolder(folder.path("\(number)")) }
            let queue = DispatchQueue(label: "test")
            var watchers = (0..<count).map { number in
                FileWatcher(path: folder.path("\(number)/app.plist"), queue: queue) { _ in reported.put(number) }
            }
            #expect(Kernel.instances(watching: folder.url.path) == 1)
            #expect(watchers.allSatisfy { $0.mechanism == .inotify })
            let last = try await WatchProbe(path)
            // The first checks, which are on another queue than those of the last watcher.
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            reported.takeAll()
            for number in stride(from: 0, to: count, by: 100) { try Disk.replace(folder.path("\(number)/app.plist"), "one") }
            try await last.passAll()
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            #expect(Set(reported.takeAll()) == Set(stride(from: 0, to: count, by: 100)))
            #expect(Kernel.isWatched(folder.path("100")))
            while !Kernel.isWatched(folder.path("100/app.plist")) { _ = await reported.first { $0 == 100 } }
            watchers = []
            await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            last.watcher.cancel()
            #expect(!Kernel.isWatched(folder.url.path))
            let paths = (0..<count).map { folder.path("\($0)") } + [folder.path("100/app.plist")]
            #expect(Kernel.watched(among: paths).isEmpty)
        }

        @Test("Hundreds of watchers, created and released, leave no descriptor and no watch")
        func churn() async throws {
            try Disk.write(path, "one")
            for _ in 0..<(isLong ? 3000 : 300) {
                let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test")) { _ in }
                watcher.cancel()
            }
            #expect(!Kernel.isWatched(path))
            #expect(!Kernel.isWatched(folder.url.path))
            #expect(!Kernel.descriptors().contains { $0.hasPrefix(folder.url.path) })
        }

        @Test("A stream that is released stops watching")
        func droppedStream() async throws {
            do {
                var events = FileWatcher.events(at: path).makeAsyncIterator()
                #expect(await events.next() == .changed)
                #expect(Kernel.isWatched(folder.url.path))
                withExtendedLifetime(events) {}
            }
            #expect(!Kernel.isWatched(folder.url.path))
        }

        @Test("A stream that was never read stops watching when it is released")
        func unreadStream() async throws {
            do { _ = FileWatcher.events(at: path) }
            #expect(!Kernel.isWatched(folder.url.path))
        }

        @Test("The stream of a cancelled reader stops watching")
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

        @Test("A replaced file is no longer watched")
        func oldFile() async throws {
            try Disk.write(path, "one")
            try Disk.hardLink(folder.path("old"), to: path)
            let probe = try await WatchProbe(path)
            #expect(Kernel.isWatched(folder.path("old")))
            try Disk.replace(path, "two")
            #expect(await probe.sees("two"))
            // The new file is watched after the quiet time, and checked again after that.
            while Kernel.isWatched(folder.path("old")) { #expect(await probe.sees("two")) }
            #expect(Kernel.isWatched(path))
            try await probe.settle()
            try Disk.write(path, "three")
            #expect(await probe.sees("three"))
        }

        @Test("A folder that is no longer on the path is no longer watched")
        func oldFolder() async throws {
            try Disk.makeFolder(folder.path("a"))
            try Disk.write(folder.path("a/app.plist"), "one")
            let probe = try await WatchProbe(folder.path("a/app.plist"))
            try Disk.move(folder.path("a"), folder.path("away"))
            #expect(await probe.sees(nil))
            #expect(!Kernel.isWatched(folder.path("away")))
            #expect(!Kernel.isWatched(folder.path("away/app.plist")))
        }

        @Test("A child process inherits no descriptor, of the watch, the file, its folder, its lock or a temporary file")
        func children() async throws {
            let probe = try await WatchProbe(path)
            let flags = try #require(Kernel.instanceFlags())
            #expect(flags & O_CLOEXEC != 0)
            // Foundation's `Process` closes all descriptors, `popen` does not.
            let found = Recorder<String>()
            var calls = FileSystemCalls.live
            calls.synchronize = { [folder] descriptor throws(SystemError) in
                // The lock, the folder, the old file and the temporary one are open now.
                for line in Self.descriptorsOfChild() where line.contains("inotify") || line.contains(folder.url.path) {
                    found.record(line)
                }
                try FileSystemCalls.live.synchronize(descriptor)
            }
            try FileLock.withLock(for: path, timeout: .zero, calls: calls) {
                for _ in 0..<2 { _ = try calls.write(Data("new".utf8), to: path) }
            }
            #expect(found.elements.isEmpty)
            #expect(Self.descriptorsOfChild().contains { $0.contains("pipe:") })
            probe.watcher.cancel()
        }

        /// The open files of a program that inherits every descriptor not closed for it.
        private static func descriptorsOfChild() -> [String] {
            guard let output = popen("ls -l /proc/self/fd", "r") else { return [] }
            defer { pclose(output) }
            var lines: [String] = []
            var line = [CChar](repeating: 0, count: 4096)
            while fgets(&line, 4096, output) != nil {
                lines.append(String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            return lines
        }

        @Test("Events for new names are requested only where a name that was looked up is missing")
        func newNames() throws {
            try Disk.writeDeep(folder.path("a/app.plist"), "one")
            let masks = Lock<[String: UInt32]>([:])
            var calls = try FakeInotify().calls
            let watch = calls.watch
            calls.watch = { instance, path, mask in
                masks.withLock { $0[path, default: 0] |= mask }
                return watch(instance, path, mask)
            }
            let hub = InotifyHub(calls: calls)
            func namesAreAskedFor(in path: String) -> Bool {
                masks.withLock { $0[path, default: 0] } & UInt32(IN_CREATE) != 0
            }
            let there = try hub.register(folder.path("a/app.plist")) { _ in }
            #expect(masks.withLock { $0[folder.path("a")] } != nil)
            #expect(!namesAreAskedFor(in: folder.path("a")) && !namesAreAskedFor(in: folder.url.path))
            let renamed = try hub.register(folder.path("a/journal"), reportsCreation: false) { _ in }
            #expect(!namesAreAskedFor(in: folder.path("a")))
            let missing = try hub.register(folder.path("none/app.plist"), reportsCreation: false) { _ in }
            #expect(namesAreAskedFor(in: folder.url.path) && !namesAreAskedFor(in: folder.path("a")))
            try Disk.remove(folder.path("a/app.plist"))
            _ = try there.update(after: .removed)
            #expect(namesAreAskedFor(in: folder.path("a")))
            there.cancel()
            renamed.cancel()
            missing.cancel()
        }

        @Test(
            "A file created again while its watch is registered is watched, whenever it is created", arguments: 0..<2, [false, true])
        func madeWhileArmed(call: Int, isBefore: Bool) async throws {
            try Disk.write(path, "one")
            // With another name, the removed file continues to exist, and no further event is sent for it.
            try Disk.hardLink(folder.path("other"), to: path)
            let countdown = Lock<Int?>(nil)
            var calls = InotifyCalls.system
            calls.watch = { [folder, path] instance, watched, mask in
                // Its folder is watched before the name is looked up, and again, for new names, after it was not found.
                let isDue = countdown.withLock { left in
                    if watched == folder.url.path { left = left.map { $0 - 1 } }
                    return watched == folder.url.path && left == -1
                }
                if isDue, isBefore { close(open(path, O_WRONLY | O_CREAT, 0o600)) }
                let result = InotifyCalls.system.watch(instance, watched, mask)
                if isDue, !isBefore { close(open(path, O_WRONLY | O_CREAT, 0o600)) }
                return result
            }
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service(), quiet: .seconds(3600), limit: .seconds(3600))
            let probe = try await WatchProbe(path, options)
            countdown.withLock { $0 = call }
            try Disk.remove(path)
            #expect(await probe.reports.first { $0.content != "one" } != nil)
            try Disk.write(path, "two")
            #expect(await probe.sees("two"))
            #expect(countdown.withLock { $0 ?? 0 } < 0)
        }

        @Test("A watch cancelled during registration is removed", arguments: [PathEvents.replaced, .rerouted])
        func armedTooLate(signals: PathEvents) throws {
            try Disk.write(path, "one")
            let pipe = try FakeInotify()
            let arming = try InotifyHub(calls: pipe.calls).register(path) { _ in }
            #expect(pipe.live.contains(path))
            arming.cancel()
            #expect(pipe.live.isEmpty)
            _ = try arming.update(after: signals)
            #expect(pipe.live.isEmpty)
        }

        @Test("A failed registration of a cancelled watch is removed, although others watch the same file")
        func failedTooLate() throws {
            try Disk.write(path, "one")
            let pipe = try FakeInotify()
            let isFull = Lock(false)
            var calls = pipe.calls
            let watch = calls.watch
            calls.watch = { [path] instance, watched, mask in
                isFull.withLock { $0 } && watched == path ? -ENOSPC : watch(instance, watched, mask)
            }
            let hub = InotifyHub(calls: calls)
            let (arming, other) = (try hub.register(path) { _ in }, try hub.register(path) { _ in })
            arming.cancel()
            isFull.withLock { $0 = true }
            #expect(throws: WatchError.self) { try arming.update(after: .rerouted) }
            #expect(pipe.live.contains(path))
            other.cancel()
            #expect(pipe.live.isEmpty)
        }

        @Test("Watches of a resolved folder that disappears are removed if the next resolution leads elsewhere")
        func goneHalfway() throws {
            for name in ["one", "two"] { try Disk.writeDeep(folder.path("\(name)/deep/app.plist"), name) }
            try Disk.link(folder.path("link"), to: "one")
            let pipe = try FakeInotify()
            var calls = pipe.calls
            let watch = calls.watch
            calls.watch = { [folder] instance, watched, mask in
                guard watched == folder.path("one/deep") else { return watch(instance, watched, mask) }
                try? Disk.relink(folder.path("link"), to: "two")
                return -ENOENT
            }
            let arming = try InotifyHub(calls: calls).register(folder.path("link/deep/app.plist")) { _ in }
            #expect(pipe.live.contains(folder.path("two/deep")))
            #expect(!pipe.live.contains(folder.path("one")))
            arming.cancel()
            #expect(pipe.live.isEmpty)
        }

        @Test("The instance is closed when nothing reads it any more, and not before")
        func closing() throws {
            let pipe = try FakeInotify()
            do {
                let options = FileWatcherOptions(service: InotifyHub(calls: pipe.calls).service())
                let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { _ in }
                watcher.cancel()
                #expect(!pipe.isClosed)
                withExtendedLifetime(options) {}
            }
            pipe.waitUntilClosed()
            #expect(pipe.isClosed)
        }
    }
#endif
