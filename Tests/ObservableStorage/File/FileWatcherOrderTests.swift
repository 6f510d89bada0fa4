import Dispatch
import Testing

@testable import ObservableStorage

/// What comes first, looking or arming anew.
@Suite("FileWatcher: order", .timeLimit(.minutes(5)))
struct FileWatcherOrderTests {
    static let orders: [(FileWatcherSignals, [Step])] = [
        (.replaced, [.look, .arm, .look]), ([.replaced, .written], [.look, .arm, .look]), ([.replaced, .closed], [.look, .arm, .look]),
        (.created, [.arm, .look]), (.removed, [.arm, .look]), (.rerouted, [.arm, .look]), ([.replaced, .created], [.arm, .look]),
        ([.replaced, .removed], [.arm, .look]), ([.replaced, .rerouted], [.arm, .look]), (.closed, [.look]), (.written, [.look]),
        (.ended, [.arm, .look]),
    ]

    private let queue = DispatchQueue(label: "test")

    @Test("Another file is looked at before it is armed, and again after that; all else only after", arguments: orders)
    func order(signals: FileWatcherSignals, steps: [Step]) async throws {
        let notifier = ScriptedNotifier()
        let watcher = await watch(by: notifier)
        notifier.signal(signals)
        for step in steps { #expect(await notifier.next() == step) }
        queue.sync {}
        #expect(notifier.seen.takeAll() == [])
        watcher.cancel()
    }

    @Test("What is looked at for another reason, before it is armed, is armed all the same")
    func lookBetween() async throws {
        let notifier = ScriptedNotifier()
        let isFirst = Guarded(false)
        let watcher = await watch(by: notifier) {
            let signalsNow = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            // The queue comes to this before the time to arm has come.
            if signalsNow { notifier.signal(.closed) }
        }
        isFirst.withLock { $0 = true }
        notifier.signal(.replaced)
        for step in [Step.look, .look, .arm, .look] { #expect(await notifier.next() == step) }
        watcher.cancel()
    }

    @Test("Who goes on writing to the file that was replaced does not put off that the other one is armed")
    func writerOfOld() async throws {
        let notifier = ScriptedNotifier()
        let watcher = await watch(by: notifier, quiet: .milliseconds(200), limit: .seconds(3600))
        notifier.signal(.replaced)
        #expect(await notifier.next() == .look)
        // It writes whenever the queue comes to it, and so is never quiet.
        @Sendable func write() {
            notifier.signal(.written)
            if !notifier.isArmed { queue.async(execute: write) }
        }
        queue.async(execute: write)
        #expect(await notifier.next() == .arm)
        #expect(await notifier.next() == .look)
        watcher.cancel()
    }

    /// Starts a watcher, and returns after its first look, when everything was armed for the first time.
    private func watch(
        by notifier: ScriptedNotifier, quiet: Duration = .zero, limit: Duration = .milliseconds(500),
        onLook: @escaping @Sendable () -> Void = {}
    ) async -> FileWatcher {
        let options = FileWatcherOptions(notifier: notifier, quiet: quiet, limit: limit)
        let watcher = FileWatcher(path: "/file", queue: queue, options: options) { _ in
            // Done before the look is seen, so that the test's next step is not part of this one.
            onLook()
            notifier.seen.put(.look)
        }
        #expect(await notifier.next() == .look)
        return watcher
    }

    enum Step: Sendable {
        case look
        case arm
    }
}

/// A system that notices what a test says, and notes when it is asked to arm anew.
private final class ScriptedNotifier: FileWatcherNotifier, FileWatcherArming {
    let seen = Inbox<FileWatcherOrderTests.Step>()
    private let armed = Guarded(false)
    private let receiver = Guarded<(@Sendable (FileWatcherSignals) -> Void)?>(nil)

    var mechanism: FileWatcher.Mechanism { .inotify }
    var isPartial: Bool { false }
    var mountedFile: String? { nil }

    var isArmed: Bool { armed.withLock { $0 } }

    /// What it sees next.
    func next() async -> FileWatcherOrderTests.Step? {
        await seen.first { _ in true }
    }

    func signal(_ signals: FileWatcherSignals) {
        receiver.withLock { $0 }?(signals)
    }

    func watch(
        _ path: String, signal: @escaping @Sendable (FileWatcherSignals) -> Void
    ) throws(FileWatcherObstacle) -> any FileWatcherArming {
        receiver.withLock { $0 = signal }
        return self
    }

    func rearm(after signals: FileWatcherSignals) throws(FileWatcherObstacle) -> FileWatcherFound {
        armed.withLock { $0 = true }
        seen.put(.arm)
        return .ready
    }

    func cancel() {}
}
