import FoundationSubset
import Synchronization

/// A value protected by a `Mutex`, whose lock is also visible to the thread sanitizer.
///
/// On Linux, `Mutex` is part of a library without instrumentation, so that the sanitizer would report false races. In processes that run
/// under it, the lock is announced to the sanitizer.
package struct Lock<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let sanitizer = SanitizerAnnotation.isNeeded ? SanitizerAnnotation() : nil

    /// Creates a lock that protects a value.
    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs a short critical section on the value: no user code, and no waiting.
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        if let result = try mutex.withLockIfAvailable({ (value) throws(Failure) in
            sanitizer?.acquired()
            defer { sanitizer?.releases() }
            return try body(&value)
        }) {
            return result
        }
        yieldWhileLocked()
        return try mutex.withLock { (value) throws(Failure) in
            // Here, not in a function of both: the value is accessed when it is passed on.
            sanitizer?.acquired()
            defer { sanitizer?.releases() }
            return try body(&value)
        }
    }

    // The kernel of Linux hands a `Mutex` to the thread that sleeps for it, so that each critical section takes a change of threads after
    // one has begun to sleep. `write.threads`: twenty threads make 50,000 edits a second then, and a million if they yield first.
    @inline(never)
    private borrowing func yieldWhileLocked() {
        for _ in 0..<yieldsBeforeSleep {
            sched_yield()
            if mutex.withLockIfAvailable({ _ in }) != nil { return }
        }
    }

    /// Runs a critical section that moves something out of the value, which is released after unlocking.
    ///
    /// Releasing may run a user-defined deinit; the optimizer may release an unused result of ``withLock(_:)`` before unlocking.
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

extension Lock where Value: Sendable {
    /// Replaces the value, and returns the previous one, which is released after unlocking.
    @discardableResult
    package borrowing func exchange(_ new: Value) -> Value {
        take { value in
            defer { value = new }
            return value
        }
    }
}

/// A lock as announced to the thread sanitizer; nil in a process that does not run under it.
final class SanitizerAnnotation: Sendable {
    typealias Announcement = @convention(c) (_ lock: UnsafeMutableRawPointer) -> Void

    // Not in a failable initializer, which allocates the object first.
    static var isNeeded: Bool { functions != nil }

    /// Announces that everything done before the lock was last released happens before this point.
    func acquired() {
        Self.functions?.acquired(Unmanaged.passUnretained(self).toOpaque())
    }

    /// Announces that everything done up to this point happens before the lock is acquired next.
    func releases() {
        Self.functions?.releases(Unmanaged.passUnretained(self).toOpaque())
    }
}

#if os(Linux)
    /// How often a thread yields before it sleeps: limited, because yielding lends the owner of the lock no priority.
    private let yieldsBeforeSleep = 16

    extension SanitizerAnnotation {
        /// The functions of the sanitizer for locks, in a process that runs under it.
        fileprivate static let functions: (acquired: Announcement, releases: Announcement)? = {
            guard let acquired = dlsym(nil, "__tsan_acquire"), let releases = dlsym(nil, "__tsan_release") else { return nil }
            return (unsafeBitCast(acquired, to: Announcement.self), unsafeBitCast(releases, to: Announcement.self))
        }()
    }
#else
    /// Elsewhere, a thread that runs takes the lock before one that sleeps.
    private let yieldsBeforeSleep = 0

    extension SanitizerAnnotation {
        /// On other platforms the sanitizer observes all locks.
        fileprivate static let functions: (acquired: Announcement, releases: Announcement)? = nil
    }
#endif
