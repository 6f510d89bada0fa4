import Foundation
import ObservableStorage

/// The right to run a number of servers, given back when it is released.
///
/// A machine with two cores can't serve a cluster for each of twenty tests at once: the rest wait here, in order.
public final class ServerPermit: Sendable {
    private struct Waiter {
        let id: UUID
        let count: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var available = 9
        var waiters: [Waiter] = []

        /// Takes the waiters that can go on, in order: a large one is not overtaken for ever by small ones.
        mutating func takeReady() -> [Waiter] {
            var ready: [Waiter] = []
            while let first = waiters.first, first.count <= available {
                available -= first.count
                ready.append(waiters.removeFirst())
            }
            return ready
        }
    }

    /// Whether the current test has a permit for all its servers.
    @TaskLocal public static var isHeld = false
    private static let state = Lock(State())
    private let count: Int

    private init(count: Int) {
        self.count = count
    }

    deinit {
        Self.giveBack(count)
    }

    /// Waits until the given number of servers, at most nine, may run.
    ///
    /// A test that has one permit must not wait for another: two such tests could wait for each other.
    public static func acquire(_ count: Int) async throws -> ServerPermit {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (ready, isCancelled) = state.withLock { state in
                    if Task.isCancelled { return ([Waiter](), true) }
                    state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                    return (state.takeReady(), false)
                }
                for waiter in ready { waiter.continuation.resume() }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let (cancelled, ready) = state.withLock { state in
                let cancelled = state.waiters.filter { $0.id == id }
                state.waiters.removeAll { $0.id == id }
                return (cancelled, state.takeReady())
            }
            for waiter in cancelled { waiter.continuation.resume(throwing: CancellationError()) }
            for waiter in ready { waiter.continuation.resume() }
        }
        return ServerPermit(count: count)
    }

    private static func giveBack(_ count: Int) {
        let ready = state.withLock { state in
            state.available += count
            return state.takeReady()
        }
        for waiter in ready { waiter.continuation.resume() }
    }
}
