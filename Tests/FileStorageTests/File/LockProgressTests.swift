import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// Waiting for a lock whose holder does or does not change the list, by a clock that the tests advance.
@Suite("Progress of others while a lock is awaited", .timeLimit(.minutes(10))) struct LockProgressTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Waits by polling for a lock that others hold: each pause advances the clock to a time before which a file was replaced, or none. The
    /// pause after the last one releases the lock.
    private func wait(pauses: [(until: Duration, replaced: String?)]) throws {
        let lock = try FileHandle(forUpdating: URL(fileURLWithPath: folder.make(".list.lock", "")))
        try #require(flock(lock.fileDescriptor, LOCK_EX) == 0)
        let start = ContinuousClock.now
        let state = Lock((paused: 0, time: Duration.zero))
        var calls = FileSystemCalls.live
        calls.uptime = { start + state.withLock { $0.time } }
        calls.pause = { [folder] _ in
            let pause = state.withLock { state in
                defer { state.paused += 1 }
                guard state.paused < pauses.count else { return (until: state.time, replaced: String?.none) }
                state.time = pauses[state.paused].until
                return pauses[state.paused]
            }
            if let name = pause.replaced {
                do { try Disk.replace(folder.path(name), "new") } catch { Issue.record(error) }
            }
            if state.withLock({ $0.paused > pauses.count }) { _ = flock(lock.fileDescriptor, LOCK_UN) }
        }
        let list = ResolvedPath(splitting: folder.path("list"))
        try FileLock.withLock(for: list, timeout: .seconds(1), isPolling: true, calls: calls) { _ in }
    }

    @Test("A waiter that did not run until its time limit looks whether others make progress, once more")
    func stoppedWaiter() throws {
        try wait(pauses: [(.milliseconds(1_500), nil)])
        #expect(throws: StorageError.locked(file: folder.path("list"), waited: .seconds(1))) {
            try wait(pauses: [(.milliseconds(1_500), nil), (.milliseconds(2_500), nil)])
        }
    }

    @Test("A waiter sees what others have written after its last look and before its time limit", arguments: ["list", ".list.journal"])
    func lateProgress(name: String) throws {
        try wait(pauses: [(.milliseconds(960), nil), (.milliseconds(1_010), name)])
    }

    @Test("A waiter gives up when the time limit has passed since others were last seen to make progress")
    func noProgress() throws {
        let locked = StorageError.locked(file: folder.path("list"), waited: .seconds(1))
        #expect(throws: locked) { try wait(pauses: [(.milliseconds(500), nil), (.milliseconds(1_010), nil)]) }
        let once: [(until: Duration, replaced: String?)] = [
            (.milliseconds(500), nil), (.milliseconds(900), "list"), (.milliseconds(1_850), nil),
        ]
        try wait(pauses: once)
        #expect(throws: locked) { try wait(pauses: once + [(.milliseconds(1_910), nil)]) }
    }

    @Test("Waiting ends after 30 times the time limit, even if others make progress")
    func endlessProgress() throws {
        let pauses = (1...70).map { (until: Duration.milliseconds(500 * $0), replaced: String?("list")) }
        try wait(pauses: Array(pauses.prefix(59)))
        #expect(throws: StorageError.locked(file: folder.path("list"), waited: .seconds(1))) { try wait(pauses: pauses) }
    }
}
