import Synchronization

/// A value behind a `Mutex`, whose lock the thread sanitizer sees too.
///
/// On Linux a `Mutex` waits inside a library that is not built for the sanitizer, which then misses who waited for whom and
/// reports races that are none. So it is told, in processes that run under it; in others this is a `Mutex`.
package struct Guarded<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let sanitizer = SanitizedLock()

    /// Puts a value behind a lock.
    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs a short critical section on the value: no user code, nothing that waits.
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { (value) throws(Failure) in
            sanitizer?.acquired()
            defer { sanitizer?.releases() }
            return try body(&value)
        }
    }

    /// Runs a critical section that takes something out of the value, and returns it alive: it is released after unlocking.
    ///
    /// Releasing may run a user-defined deinit. What ``withLock(_:)`` returns and nobody uses, the optimizer may release before it unlocks.
    @inline(__always)
    @discardableResult
    package borrowing func take<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> Result {
        let taken = try withLock(body)
        withExtendedLifetime(taken) {}
        return taken
    }
}
