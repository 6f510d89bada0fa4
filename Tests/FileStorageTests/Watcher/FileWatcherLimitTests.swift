#if os(Linux)
    import Dispatch
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// The kernel sends no events, or not all events.
    @Suite("FileWatcher: unwatchable paths", .timeLimit(.minutes(10)))
    struct FileWatcherLimitTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.plist")
        }

        @Test(
            "When no watches or instances are left, the path is polled, which is reported once",
            arguments: [ENOSPC, EMFILE, ENFILE, ENOMEM])
        func exhausted(code: Int32) async throws {
            var calls = try FakeInotify().calls
            if code == ENOSPC { calls.watch = { _, _, _ in -code } } else { calls.open = { -code } }
            try await expectFallback(calls: calls)
        }

        @Test("When watches run out halfway, the others are removed")
        func exhaustedHalfway() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            let watch = calls.watch
            calls.watch = { instance, path, mask in pipe.watchCalls < 2 ? watch(instance, path, mask) : -ENOSPC }
            try await expectFallback(calls: calls)
            #expect(pipe.watchCalls == 2)
            #expect(pipe.live.isEmpty)
        }

        @Test("When watches run out later, polling takes over")
        func exhaustedLater() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            let watch = calls.watch
            let exhaustion = Box(false)
            calls.watch = { instance, path, mask in exhaustion.flag.withLock { $0 } ? -ENOSPC : watch(instance, path, mask) }
            try Disk.write(path, "one")
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service(), pollInterval: .milliseconds(5))
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

        @Test(
            "A link that cannot be read completely, or a name that cannot be checked, is reported as the cause",
            arguments: [true, false])
        func unfollowable(isLink: Bool) async throws {
            try Disk.link(path, to: "real")
            var files = FileSystemCalls.live
            if isLink {
                files.readLink = { _, buffer throws(SystemError) in
                    for index in buffer.indices { buffer[index] = UInt8(ascii: "a") }
                    return buffer.count
                }
            } else {
                files.statusOfPath = { [path] name, followsLinks throws(SystemError) in
                    if name.path == path { throw SystemError(EIO) }
                    return try FileSystemCalls.live.statusOfPath(name, followsLinks)
                }
            }
            let events = Inbox<FileWatcher.Event>()
            let options = FileWatcherOptions(service: InotifyHub(calls: try FakeInotify().calls, files: files).service())
            let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { events.put($0) }
            let reason = "\(path): \(SystemError(isLink ? ENAMETOOLONG : EIO).reason)"
            #expect(await events.first { _ in true } == .fallback(.unwatchable(file: path, reason: reason)))
            watcher.cancel()
        }

        @Test("A journal that alone cannot be watched is polled, which is reported; it is watched as soon as that is possible")
        func journal() async throws {
            let fixture = try JournalFixture(["a": 1])
            let path = fixture.journal.path
            // A link to a name that is not UTF-8.
            try #require(symlink([-1, 0], path) == 0)
            let (file, events) = (fixture.backend(.off), Inbox<StorageEvent>())
            let token = file.watch(on: DispatchQueue(label: "test"), from: nil) { events.put($0) }
            let failure = await events.first { if case .failed(.unwatchable) = $0 { true } else { false } }
            #expect(failure == .failed(.unwatchable(file: path, reason: "the target of the link \(path) is not UTF-8")))
            #expect(file.list.currentWatch?.watcher?.mechanism == .inotify)
            #expect(file.list.currentWatch?.journalWatcher?.mechanism == .polling)
            try FileManager.default.removeItem(atPath: path)
            #expect(await events.first { _ in file.list.currentWatch?.journalWatcher?.mechanism == .inotify } != nil)
            token.cancel()
        }

        @Test("Where other machines make changes, the path is polled")
        func remote() async throws {
            var calls = try FakeInotify().calls
            calls.fileSystemType = { _ in "nfs4" }
            try await expectFallback(calls: calls)
        }

        @Test("Where a lower layer can be changed, the path is also polled")
        func layered() async throws {
            let pipe = try FakeInotify()
            var calls = pipe.calls
            calls.fileSystemType = { _ in "overlay" }
            try Disk.write(path, "one")
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service(), layerInterval: .milliseconds(5))
            let probe = try await WatchProbe(path, options)
            #expect(probe.watcher.mechanism == .inotify)
            // The pipe sends no events.
            try Disk.replace(path, "two")
            #expect(await probe.sees("two"))
            #expect(!probe.reports.takeAll().contains { $0.event != .changed })
        }

        @Test("An ancestor without read permission is skipped, the file's folder is not")
        func unreadable() async throws {
            try Disk.makeFolder(folder.path("a/b"))
            let file = folder.path("a/b/app.plist")
            for (name, expected) in [("a", FileWatcher.Mechanism.inotify), ("a/b", .polling)] {
                let forbidden = folder.path(name)
                var calls = try FakeInotify().calls
                let watch = calls.watch
                calls.watch = { instance, path, mask in path == forbidden ? -EACCES : watch(instance, path, mask) }
                let watcher = FileWatcher(
                    path: file, queue: DispatchQueue(label: "test"),
                    options: FileWatcherOptions(service: InotifyHub(calls: calls).service())
                ) { _ in }
                #expect(watcher.mechanism == expected)
                watcher.cancel()
            }
        }

        @Test("When watches are available again, that is reported, the file is checked, and events are delivered again")
        func recovery() async throws {
            let pipe = try FakeInotify()
            let isExhausted = Box(true)
            let events = Inbox<FileWatcher.Event>()
            let watcher = watcher(path, pipe, failing: isExhausted, code: ENOSPC) { events.put($0) }
            #expect(watcher.mechanism == .polling)
            #expect(await events.first { $0 == .changed } != nil)
            isExhausted.flag.withLock { $0 = false }
            #expect(await events.first { $0 != .changed } == .recovered(.inotify))
            #expect(watcher.mechanism == .inotify)
            #expect(await events.first { _ in true } == .changed)
            let watch = try #require(pipe.watch(of: folder.url.path))
            pipe.send(watch: watch, mask: UInt32(IN_MOVED_TO), name: "app.plist")
            #expect(await events.first { _ in true } == .changed)
            watcher.cancel()
        }

        @Test("A change of the file, or of the cause that prevents watching, causes an immediate retry", arguments: [ENOSPC, EACCES])
        func recoveryAfterChange(code: Int32) async throws {
            let pipe = try FakeInotify()
            let isFailing = Box(true)
            let events = Inbox<FileWatcher.Event>()
            var options = FileWatcherOptions(pollInterval: .milliseconds(5))
            options.retriesWithBackoff = false
            let watcher = watcher(path, pipe, failing: isFailing, code: code, options) { events.put($0) }
            #expect(await events.first { $0 == .changed } != nil)
            isFailing.flag.withLock { $0 = false }
            // A folder's permissions do not affect the known state of the file in it.
            if code == EACCES { #expect(chmod(folder.url.path, 0o711) == 0) } else { try Disk.replace(path, "one") }
            #expect(await events.first { $0 != .changed } == .recovered(.inotify))
            watcher.cancel()
        }

        @Test("A watch that cannot be restored immediately is reported each time")
        func relapse() async throws {
            let pipe = try FakeInotify()
            let isExhausted = Box(true)
            let events = Inbox<FileWatcher.Event>()
            let watcher = watcher(path, pipe, failing: isExhausted, code: ENOSPC) { events.put($0) }
            for _ in 0..<3 {
                guard case .fallback = await events.first(where: { $0 != .changed }) else {
                    Issue.record("no fallback")
                    return
                }
                isExhausted.flag.withLock { $0 = false }
                #expect(await events.first { $0 != .changed } == .recovered(.inotify))
                isExhausted.flag.withLock { $0 = true }
                pipe.send(watch: -1, mask: UInt32(IN_Q_OVERFLOW))
            }
            watcher.cancel()
        }

        /// A watcher whose folder cannot be watched for as long as it is failing.
        private func watcher(
            _ path: String, _ pipe: FakeInotify, failing: Box, code: Int32,
            _ options: FileWatcherOptions = FileWatcherOptions(pollInterval: .milliseconds(5)),
            _ handler: @escaping @Sendable (FileWatcher.Event) -> Void
        ) -> FileWatcher {
            var (calls, options) = (pipe.calls, options)
            let watch = calls.watch
            let failingPath = folder.url.path
            calls.watch = { instance, path, mask in
                failing.flag.withLock { $0 } && path == failingPath ? -code : watch(instance, path, mask)
            }
            options.service = InotifyHub(calls: calls).service()
            return FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options, handler: handler)
        }

        private func expectFallback(calls: InotifyCalls) async throws {
            try Disk.write(path, "one")
            let options = FileWatcherOptions(service: InotifyHub(calls: calls).service(), pollInterval: .milliseconds(5))
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
                #expect(await reports.first { $0.event != .changed || $0.content == "\(number)" }?.event == .changed)
            }
            watcher.cancel()
        }
    }

    /// A shared flag.
    private final class Box: Sendable {
        let flag: Lock<Bool>

        init(_ flag: Bool) {
            self.flag = Lock(flag)
        }
    }
#endif
