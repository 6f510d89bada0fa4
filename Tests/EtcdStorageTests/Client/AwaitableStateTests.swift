import Dispatch
import Foundation
import ObservableStorage
import Testing

@testable import EtcdStorage

@Suite("Waiting for a state", .timeLimit(.minutes(10)))
struct AwaitableStateTests {
    @Test("A deadline needs no thread of the pool, which the program may keep busy")
    func busyPool() throws {
        let (ended, busy, given) = (DispatchSemaphore(value: 0), DispatchGroup(), DispatchSemaphore(value: 0))
        let blockers = ProcessInfo.processInfo.activeProcessorCount
        // One more than fit beside this test waits for its turn until all others hold their threads.
        for _ in 1..<blockers { busy.enter() }
        let started = Lock(0)
        for _ in 0..<blockers {
            Task {
                let isNeeded = started.withLock { count in
                    count += 1
                    return count < blockers
                }
                if isNeeded { busy.leave() }
                ended.wait()
            }
        }
        defer { for _ in 0..<blockers { ended.signal() } }
        busy.wait()
        let executor = DispatchQueueExecutor(label: "AwaitableStateTests", isPreferred: true)
        Task(executorPreference: executor) {
            let found = await AwaitableState(0).wait(until: .now + .milliseconds(1)) { $0 > 0 ? $0 : nil }
            if found == nil { given.signal() }
        }
        #expect(given.wait(timeout: .now() + 60) == .success)
    }
}
