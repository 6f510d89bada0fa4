import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Owners of locks", .timeLimit(.minutes(5)))
struct LockOwnerTests {
    private let owner = LockOwner<Int>()

    /// Runs a closure on a thread of its own, and returns after it has returned.
    private func onOtherThread(_ body: @escaping @Sendable () -> Void) throws {
        let ended = DispatchSemaphore(value: 0)
        let code = startThread {
            body()
            ended.signal()
        }
        try #require(code == 0)
        ended.wait()
    }

    @Test("Each thread knows what it holds itself, whatever others hold and release")
    func severalThreads() throws {
        let seen = Lock<[Int?]>([])
        try owner.own(1) {
            try onOtherThread { [owner] in
                let before = owner.resource
                let inside = owner.own(2) { owner.resource }
                seen.withLock { $0 = [before, inside, owner.resource] }
            }
            #expect(owner.resource == 1)
        }
        #expect(seen.withLock { $0 } == [nil, 2, nil])
        #expect(owner.resource == nil)
    }

    #if os(Linux)
        @Test("What a thread held that has ended inside is not held by a later one")
        func endedThread() throws {
            let entered = DispatchSemaphore(value: 0)
            // A thread that ends by itself makes no deferred calls.
            let code = startThread { [owner] in
                owner.own(1) {
                    entered.signal()
                    pthread_exit(nil)
                }
            }
            try #require(code == 0)
            entered.wait()
            let held = Lock(0)
            // The memory of the first one is used again some time after it has ended.
            for _ in 0..<1_000 {
                try onOtherThread { [owner] in
                    if owner.resource != nil { held.withLock { $0 += 1 } }
                }
            }
            #expect(held.withLock { $0 } == 0)
        }
    #endif
}
