import Foundation
import ObservableStorage

/// Runs a closure that blocks on a thread of its own: the pool that tests run on has few.
///
/// The thread has released what the closure captures when this returns.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let body = Lock<(@Sendable () throws -> Value)?>(body)
    return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body.withLock { $0.take() }!() }) }
    }
}
