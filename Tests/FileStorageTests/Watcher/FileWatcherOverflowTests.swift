#if os(Linux)
    import Dispatch
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// The kernel drops events when its queue is full.
    @Suite("FileWatcher: lost events", .timeLimit(.minutes(10)))
    struct FileWatcherOverflowTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.plist")
        }

        @Test("When events are lost, every watcher checks its file and registers its watches again")
        func overflow() async throws {
            let pipe = try FakeInotify()
            try Disk.write(path, "one")
            let options = FileWatcherOptions(service: InotifyHub(calls: pipe.calls).service())
            let first = Inbox<FileWatcher.Event>()
            let second = Inbox<FileWatcher.Event>()
            let queue = DispatchQueue(label: "test")
            let watchers = [
                FileWatcher(path: path, queue: queue, options: options) { first.put($0) },
                FileWatcher(path: folder.path("other"), queue: queue, options: options) { second.put($0) },
            ]
            #expect(await first.first { _ in true } == .changed)
            #expect(await second.first { _ in true } == .changed)
            let before = pipe.watchCalls
            pipe.send(watch: -1, mask: UInt32(IN_Q_OVERFLOW))
            #expect(await first.first { _ in true } == .changed)
            #expect(await second.first { _ in true } == .changed)
            #expect(pipe.watchCalls > before)
            for watcher in watchers { watcher.cancel() }
        }

        @Test("Many changes of another file in the folder end with a check of the last state")
        func flood() async throws {
            try Disk.write(path, "one")
            // A separate instance, so that watchers of other tests do not check.
            let probe = try await WatchProbe(path, FileWatcherOptions(service: InotifyHub(calls: .system).service()))
            let other = folder.path("other")
            try Disk.write(other, "")
            // Two alternating names, so that equal events are not merged.
            for number in 0..<20_000 {
                try number.isMultiple(of: 2) ? Disk.move(other, other + "2") : Disk.move(other + "2", other)
            }
            try Disk.replace(path, "last")
            #expect(await probe.sees("last"))
        }
    }
#endif
