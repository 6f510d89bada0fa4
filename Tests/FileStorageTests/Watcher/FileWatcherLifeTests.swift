import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// The start and end of a watch, and its stream.
@Suite("FileWatcher: lifetime", .timeLimit(.minutes(10)))
struct FileWatcherLifeTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("app.plist")
        try Disk.write(path, "one")
    }

    @Test("Two watchers of one file do not affect each other", arguments: FileWatcherOptions.all)
    func twoWatchers(options: FileWatcherOptions) async throws {
        let first = try await WatchProbe(path, options)
        let second = try await WatchProbe(path, options)
        try Disk.replace(path, "two")
        #expect(await first.sees("two"))
        #expect(await second.sees("two"))
        first.watcher.cancel()
        try await first.settle()
        try Disk.write(path, "three")
        #expect(await second.sees("three"))
        try Disk.replace(path, "four")
        #expect(await second.sees("four"))
        try await first.passAll()
        #expect(first.reports.takeAll().isEmpty)
    }

    @Test("Two watchers of one inode by different paths do not affect each other")
    func twoPaths() async throws {
        try Disk.hardLink(folder.path("other"), to: path)
        let first = try await WatchProbe(path)
        let second = try await WatchProbe(folder.path("other"))
        try Disk.write(path, "two")
        #expect(await first.sees("two"))
        #expect(await second.sees("two"))
        first.watcher.cancel()
        try Disk.write(path, "three")
        #expect(await second.sees("three"))
    }

    @Test("Nothing is delivered after cancelling on the queue, even if events are in progress", arguments: FileWatcherOptions.all)
    func cancelOnQueue(options: FileWatcherOptions) async throws {
        let probe = try await WatchProbe(path, options)
        let gate = DispatchSemaphore(value: 0)
        probe.queue.async {
            gate.wait()
            probe.watcher.cancel()
            probe.watcher.cancel()
            probe.reports.takeAll()
        }
        try Disk.replace(path, "two")
        let witness = try await WatchProbe(path)
        try await witness.passAll()
        gate.signal()
        try await probe.passAll()
        #expect(probe.reports.takeAll().isEmpty)
    }

    @Test("A watcher can be cancelled by its own handler", arguments: FileWatcherOptions.all)
    func cancelInHandler(options: FileWatcherOptions) async throws {
        final class Owner: Sendable {
            let watcher = Lock<FileWatcher?>(nil)
        }
        let owner = Owner()
        let events = Inbox<FileWatcher.Event>()
        let queue = DispatchQueue(label: "test")
        queue.suspend()
        let watcher = FileWatcher(path: path, queue: queue, options: options) { event in
            events.put(event)
            owner.watcher.withLock { $0 }?.cancel()
        }
        owner.watcher.withLock { $0 = watcher }
        queue.resume()
        #expect(await events.first { _ in true } == .changed)
        try Disk.replace(path, "two")
        let witness = try await WatchProbe(path)
        try await witness.passAll()
        #expect(events.takeAll().isEmpty)
    }

    @Test("A watcher that is released releases its handler", arguments: FileWatcherOptions.all)
    func release(options: FileWatcherOptions) async throws {
        final class Witness: Sendable {
            let gone: Inbox<Bool>
            init(_ gone: Inbox<Bool>) { self.gone = gone }
            deinit { gone.put(true) }
        }
        let gone = Inbox<Bool>()
        let looks = Inbox<Bool>()
        do {
            let witness = Witness(gone)
            let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { _ in
                withExtendedLifetime(witness) { looks.put(true) }
            }
            _ = await looks.first { $0 }
            withExtendedLifetime(watcher) {}
        }
        #expect(await gone.first { $0 } == true)
    }

    @Test("Watchers are created and cancelled on many threads concurrently")
    func manyThreads() async throws {
        let path = path
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let queue = DispatchQueue(label: "test")
                        let watcher = FileWatcher(path: path, queue: queue) { _ in }
                        queue.async { watcher.cancel() }
                    }
                }
            }
            group.addTask {
                for number in 0..<200 { try? Disk.replace(path, "\(number)") }
            }
        }
        let probe = try await WatchProbe(path)
        try Disk.write(path, "last")
        #expect(await probe.sees("last"))
    }

    @Test("The stream begins with a check, and continues")
    func stream() async throws {
        let path = path
        var events = FileWatcher.events(at: path).makeAsyncIterator()
        #expect(await events.next() == .changed)
        try Disk.replace(path, "two")
        #expect(await events.next() == .changed)
    }

    @Test("The stream ends with its task")
    func streamCancelled() async throws {
        let path = path
        let begun = Inbox<Bool>()
        let task = Task {
            for await _ in FileWatcher.events(at: path) { begun.put(true) }
        }
        _ = await begun.first { $0 }
        task.cancel()
        await task.value
    }

    @Test("The stream of a path that cannot be watched reports that first")
    func streamFallback() async throws {
        let options = FileWatcherOptions(service: .blind, pollInterval: .milliseconds(5))
        var events = events(at: path, options).makeAsyncIterator()
        #expect(await events.next() == .fallback(.unwatchable(file: path, reason: "blind")))
        #expect(await events.next() == .changed)
    }

    @Test("Unread events are kept once, the newest watching mode first")
    func unreadEvents() async {
        let fallback = FileWatcher.Event.fallback(.unwatchable(file: "f", reason: "r"))
        let limit = FileWatcher.Event.incomplete(.mountedFile(file: "f"))
        let handler = Lock<(@Sendable (FileWatcher.Event) -> Void)?>(nil)
        let stream = FileWatcher.events { send in
            handler.withLock { $0 = send }
            return FileWatcher(path: path, queue: DispatchQueue(label: "test")) { _ in }
        }
        func send(_ events: FileWatcher.Event...) {
            for event in events { handler.withLock { $0 }?(event) }
        }
        send(.changed, limit, fallback, .changed, .recovered(.inotify), .changed, limit)
        var events = stream.makeAsyncIterator()
        #expect(await events.next() == .recovered(.inotify))
        #expect(await events.next() == limit)
        #expect(await events.next() == .changed)
        send(.recovered(.inotify), fallback)
        #expect(await events.next() == fallback)
        async let waiting = events.next()
        send(.changed)
        #expect(await waiting == .changed)
    }

    /// A polling watcher that has delivered all pending events.
    private func pollingWatcher(
        _ options: FileWatcherOptions, _ handler: @escaping @Sendable (FileWatcher.Event) -> Void
    ) async -> FileWatcher {
        var options = options
        let (polls, queue) = (Inbox<Bool>(), DispatchQueue(label: "test"))
        let status = options.calls.statusOfPath
        options.calls.statusOfPath = { path, followsLinks throws(SystemError) in
            polls.put(true)
            return try status(path, followsLinks)
        }
        let watcher = FileWatcher(path: path, queue: queue, options: options, handler: handler)
        // At the start, and twice after that; the second time finds nothing new.
        for _ in 0..<4 { _ = await polls.first { $0 } }
        queue.sync {}
        return watcher
    }

    @Test("Polling reports when the path can no longer be resolved, which differs from a missing file")
    func pollingEndlessLink() async throws {
        try Disk.remove(path)
        let events = Inbox<FileWatcher.Event>()
        let watcher = await pollingWatcher(.polling) { events.put($0) }
        events.takeAll()
        try Disk.link(path, to: path)
        #expect(await events.first { _ in true } == .changed)
        watcher.cancel()
    }

    @Test("Polling reports when a file can no longer be checked, and when it can again")
    func pollingFailure() async throws {
        let code = Lock<Int32?>(nil)
        var options = FileWatcherOptions.polling
        options.calls.statusOfPath = { path, followsLinks throws(SystemError) in
            if let code = code.withLock({ $0 }) { throw SystemError(code) }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        code.withLock { $0 = ENOENT }
        let events = Inbox<FileWatcher.Event>()
        let watcher = await pollingWatcher(options) { events.put($0) }
        events.takeAll()
        code.withLock { $0 = EIO }
        #expect(await events.first { _ in true } == .changed)
        code.withLock { $0 = nil }
        #expect(await events.first { _ in true } == .changed)
        watcher.cancel()
    }

    @Test("Where nothing can be watched, the path is polled, which is reported once")
    func fallback() async throws {
        let options = FileWatcherOptions(service: .blind, pollInterval: .milliseconds(5))
        let events = Inbox<FileWatcher.Event>()
        let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { events.put($0) }
        #expect(watcher.mechanism == .polling)
        #expect(await events.first { _ in true } == .fallback(.unwatchable(file: path, reason: "blind")))
        #expect(await events.first { _ in true } == .changed)
        for number in 0..<5 {
            try Disk.replace(path, "\(number)")
            #expect(await events.first { _ in true } == .changed)
        }
        watcher.cancel()
    }
}

extension WatchService {
    /// A service that cannot watch anything.
    static var blind: WatchService {
        WatchService(mechanism: .inotify) { _, _ throws(WatchError) in throw WatchError(reason: "blind") }
    }
}

/// The events of a watcher with these options.
private func events(at path: String, _ options: FileWatcherOptions) -> AsyncStream<FileWatcher.Event> {
    FileWatcher.events { FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options, handler: $0) }
}
