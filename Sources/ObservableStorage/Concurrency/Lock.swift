import Foundation
import Synchronization

/// A value behind a `Mutex`, whose lock the thread sanitizer sees too.
///
/// On Linux a `Mutex` waits inside a library that is not built for the sanitizer, which then misses who waited for whom and
/// reports races that are none. So it is told, in processes that run under it; in others this is a `Mutex`.
package struct Lock<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let sanitizer = SanitizerAnnotation()

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

/// A lock as the thread sanitizer is told of it; there is none in a process that does not run under it.
final class SanitizerAnnotation: Sendable {
    typealias Note = @convention(c) (_ lock: UnsafeMutableRawPointer) -> Void

    private let notes: (acquired: Note, releases: Note)

    init?() {
        guard let notes = Self.notes else { return nil }
        self.notes = notes
    }

    /// Says that what was done before the lock was last released has been done before now.
    func acquired() {
        notes.acquired(Unmanaged.passUnretained(self).toOpaque())
    }

    /// Says that what has been done before now will have been done when the lock is acquired next.
    func releases() {
        notes.releases(Unmanaged.passUnretained(self).toOpaque())
    }
}

#if os(Linux)
    extension SanitizerAnnotation {
        /// The part of the sanitizer's interface that is about locks, in a process that runs under it.
        fileprivate static let notes: (acquired: Note, releases: Note)? = {
            guard let acquired = dlsym(nil, "__tsan_acquire"), let releases = dlsym(nil, "__tsan_release") else { return nil }
            return (unsafeBitCast(acquired, to: Note.self), unsafeBitCast(releases, to: Note.self))
        }()
    }
#else
    extension SanitizerAnnotation {
        /// Elsewhere the sanitizer knows every lock there is.
        fileprivate static let notes: (acquired: Note, releases: Note)? = nil
    }
#endif
