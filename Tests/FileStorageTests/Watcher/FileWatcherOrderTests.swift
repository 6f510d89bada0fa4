import Dispatch
import Testing

@testable import ObservableStorage

/// The order of checking a file and adding watches again.
@Suite("FileWatcher: order", .timeLimit(.minutes(10)))
struct FileWatcherOrderTests {
    static let orders: [(PathEvents, [Step])] = [
        (.replaced, [.look, .arm, .look]), ([.replaced, .modified], [.look, .arm, .look]), ([.replaced, .closed], [.look, .arm, .look]),
        (.created, [.arm, .look]), (.removed, [.arm, .look]), (.rerouted, [.arm, .look]), ([.replaced, .created], [.arm, .look]),
        ([.replaced, .removed], [.arm, .look]), ([.replaced, .rerouted], [.arm, .look]), (.closed, [.look]), (.modified, [.look]),
        (.ended, [.arm, .look]),
    ]

    private let queue = DispatchQueue(label: "test")

    @Test("A replacement is checked before it is watched, and again afterwards; anything else only afterwards", arguments: orders)
    func order(signals: PathEvents, steps: [Step]) async throws {
        let system = ScriptedService()
        let watcher = await watch(by: system)
        system.signal(signals)
        for step in steps { #expect(await system.next() == step) }
        queue.sync {}
        #expect(system.steps.takeAll() == [])
        watcher.cancel()
    }

    @Test("A replacement checked for another reason before it is watched is watched all the same")
    func lookBetween() async throws {
        let system = ScriptedService()
        let isFirst = Lock(false)
        let watcher = await watch(by: system) {
            let signalsNow = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            // The queue runs this before the watch is due.
            if signalsNow { system.signal(.closed) }
        }
        isFirst.withLock { $0 = true }
        system.signal(.replaced)
        for step in [Step.look, .look, .arm, .look] { #expect(await system.next() == step) }
        watcher.cancel()
    }

    @Test("Continued writing to the replaced file does not delay watching the replacement")
    func writerOfOld() async throws {
        let system = ScriptedService()
        let watcher = await watch(by: system, quiet: .milliseconds(200), limit: .seconds(3600))
        system.signal(.replaced)
        #expect(await system.next() == .look)
        // It writes whenever the queue runs it, so there is no quiet time.
        @Sendable func write() {
            system.signal(.modified)
            if !system.isArmed { queue.async(execute: write) }
        }
        queue.async(execute: write)
        #expect(await system.next() == .arm)
        #expect(await system.next() == .look)
        watcher.cancel()
    }

    @Test("After a path could be watched again, the next failure counts as the first and is retried soon")
    func backoff() async throws {
        let recovered = Inbox<Int>()
        // Only the scheduled time leads to another attempt.
        var options = FileWatcherOptions(pollInterval: .seconds(3600))
        let systems = (0..<2).map { _ in ScriptedService() }
        let watchers = systems.enumerated().map { number, system in
            system.failures.withLock { $0 = 5 }
            options.service = system.service
            return FileWatcher(path: "/file", queue: queue, options: options) { event in
                if case .recovered = event { recovered.put(number) } else { system.steps.put(.look) }
            }
        }
        // Both have failed so often that the next delay would exceed a second.
        let first = await recovered.first { _ in true }
        #expect(await recovered.first { $0 != first } != nil)
        // On the queue, after the reports that a recovery consists of.
        queue.sync { for system in systems { system.steps.takeAll() } }
        systems[1].signal(.rerouted)
        for step in [Step.arm, .look] { #expect(await systems[1].next() == step) }
        queue.sync {
            for system in systems {
                system.failures.withLock { $0 = 1 }
                system.signal(.rerouted)
            }
        }
        #expect(await recovered.first { _ in true } == 1)
        for watcher in watchers { watcher.cancel() }
    }

    /// Starts a watcher, and returns after its first check, when all watches were added for the first time.
    private func watch(
        by system: ScriptedService, quiet: Duration = .zero, limit: Duration = .milliseconds(500),
        onLook: @escaping @Sendable () -> Void = {}
    ) async -> FileWatcher {
        let options = FileWatcherOptions(service: system.service, quiet: quiet, limit: limit)
        let watcher = FileWatcher(path: "/file", queue: queue, options: options) { _ in
            // Done before the check is recorded, so that the test's next step is not part of this one.
            onLook()
            system.steps.put(.look)
        }
        #expect(await system.next() == .look)
        return watcher
    }

    enum Step: Sendable {
        case look
        case arm
    }
}

/// A service that sends the events of a test, and records when the path is watched again.
private final class ScriptedService: WatchRegistration {
    let steps = Inbox<FileWatcherOrderTests.Step>()
    /// The number of further attempts to watch that fail.
    let failures = Lock(0)
    private let armed = Lock(false)
    private let receiver = Lock<(@Sendable (PathEvents) -> Void)?>(nil)

    var isPartial: Bool { false }
    var mountedFile: String? { nil }

    var isArmed: Bool { armed.withLock { $0 } }

    var service: WatchService {
        WatchService(mechanism: .inotify) { _, handler throws(WatchError) in
            try self.failIfAsked()
            self.receiver.withLock { $0 = handler }
            return self
        }
    }

    /// The next state that it reports.
    func next() async -> FileWatcherOrderTests.Step? {
        await steps.first { _ in true }
    }

    func signal(_ events: PathEvents) {
        receiver.withLock { $0 }?(events)
    }

    func update(after events: PathEvents) throws(WatchError) -> TargetState {
        try failIfAsked()
        armed.withLock { $0 = true }
        steps.put(.arm)
        return .ready
    }

    func cancel() {}

    private func failIfAsked() throws(WatchError) {
        let fails = failures.withLock { failures in
            defer { failures = max(0, failures - 1) }
            return failures > 0
        }
        if fails { throw WatchError(reason: "asked to fail") }
    }
}
