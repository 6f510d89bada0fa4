import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// Beginning and end of a watch, and its stream.
@Suite("FileWatcher: life", .timeLimit(.minutes(5)))
struct FileWatcherLifeTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("app.plist")
        try Disk.write(path, "one")
    }

    @Test("Two watchers of one file do not disturb each other", arguments: FileWatcherOptions.all)
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

    @Test("Two watchers of one inode by different paths do not disturb each other")
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

    @Test("Nothing comes after cancelling on the queue, whatever is under way", arguments: FileWatcherOptions.all)
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
            let watcher = Guarded<FileWatcher?>(nil)
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
        #expect(await events.first { _ in true } == .lookAgain)
        try Disk.replace(path, "two")
        let witness = try await WatchProbe(path)
        try await witness.passAll()
        #expect(events.takeAll().isEmpty)
    }

    @Test("A watcher that is let go lets its handler go", arguments: FileWatcherOptions.all)
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

    @Test("Watchers come and go on many threads at once")
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

    @Test("The stream begins with a look, and goes on")
    func stream() async throws {
        let path = path
        var events = FileWatcher.events(at: path).makeAsyncIterator()
        #expect(await events.next() == .lookAgain)
        try Disk.replace(path, "two")
        #expect(await events.next() == .lookAgain)
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

    @Test("The stream of a path that cannot be watched says so first")
    func streamFallback() async throws {
        let options = FileWatcherOptions(notifier: BlindNotifier(), pollInterval: .milliseconds(5))
        var events = FileWatcher.events(at: path, options: options).makeAsyncIterator()
        #expect(await events.next() == .fallback(.unwatchable(file: path, reason: "blind")))
        #expect(await events.next() == .lookAgain)
    }

    @Test("What is not read yet is kept once, news of the way of watching first, and of those the newest")
    func slot() async {
        let slot = FileWatcherSlot()
        let fallback = FileWatcher.Event.fallback(.unwatchable(file: "f", reason: "r"))
        let limit = FileWatcher.Event.incomplete(.mountedFile(file: "f"))
        for event in [.lookAgain, limit, fallback, .lookAgain, .recovered(.inotify), .lookAgain, limit] { slot.put(event) }
        #expect(await slot.next() == .recovered(.inotify))
        #expect(await slot.next() == limit)
        #expect(await slot.next() == .lookAgain)
        for event in [.recovered(.inotify), fallback] { slot.put(event) }
        #expect(await slot.next() == fallback)
        slot.finish()
        slot.put(.lookAgain)
        #expect(await slot.next() == nil)
    }

    @Test("Where nothing can be watched, a timer looks, and it is said once")
    func fallback() async throws {
        let options = FileWatcherOptions(notifier: BlindNotifier(), pollInterval: .milliseconds(5))
        let events = Inbox<FileWatcher.Event>()
        let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { events.put($0) }
        #expect(watcher.mechanism == .polling)
        #expect(await events.first { _ in true } == .fallback(.unwatchable(file: path, reason: "blind")))
        #expect(await events.first { _ in true } == .lookAgain)
        for number in 0..<5 {
            try Disk.replace(path, "\(number)")
            #expect(await events.first { _ in true } == .lookAgain)
        }
        watcher.cancel()
    }
}

/// A system on which nothing can be watched.
struct BlindNotifier: FileWatcherNotifier {
    var mechanism: FileWatcher.Mechanism { .inotify }

    func watch(
        _ path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void
    ) throws(FileWatcherObstacle) -> any FileWatcherArming {
        throw FileWatcherObstacle(reason: "blind")
    }
}
