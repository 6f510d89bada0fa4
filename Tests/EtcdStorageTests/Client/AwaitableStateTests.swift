import Dispatch
import Foundation
import ObservableStorage
import Testing

@testable import EtcdStorage

@Suite("Waiting for a state", .timeLimit(.minutes(10)))
struct AwaitableStateTests {
    @Test("A deadline needs no thread of the pool, which the program may keep busy")
    func busyPool() throws {
        let (started, ended, given) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let blockers = ProcessInfo.processInfo.activeProcessorCount
        for _ in 0..<blockers {
            Task {
                started.signal()
                Self.block(until: ended)
            }
        }
        defer { for _ in 0..<blockers { ended.signal() } }
        // This test has a thread of the pool itself, so that the last one may have to wait for its turn.
        for _ in 1..<blockers { started.wait() }
        let executor = DispatchQueueExecutor(label: "AwaitableStateTests", isPreferred: true)
        Task(executorPreference: executor) {
            let found = await AwaitableState(0).wait(until: .now + .milliseconds(1)) { $0 > 0 ? $0 : nil }
            if found == nil { given.signal() }
        }
        #expect(given.wait(timeout: .now() + 60) == .success)
    }

    private static func block(until semaphore: DispatchSemaphore) {
        semaphore.wait()
    }
}
