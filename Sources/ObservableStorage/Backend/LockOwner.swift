import Dispatch
import Foundation

/// Remembers which thread holds a lock, and of what, so that the thread can do more under it without locking again.
final class LockOwner<Resource: Sendable>: Sendable {
    private let current = Guarded<(thread: ObjectIdentifier, resource: Resource)?>(nil)

    /// What this thread holds the lock of; nil if it does not hold it.
    var resource: Resource? {
        let thread = ObjectIdentifier(Thread.current)
        return current.withLock { $0?.thread == thread ? $0?.resource : nil }
    }

    /// Runs a closure while this thread holds the lock of something.
    func own<Result>(_ resource: Resource, _ body: () throws -> Result) rethrows -> Result {
        let thread = ObjectIdentifier(Thread.current)
        current.withLock { $0 = (thread, resource) }
        defer { current.withLock { $0 = nil } }
        return try body()
    }
}

/// A serial queue whose ``sync(_:)`` may be called from inside of itself.
final class RecursiveSerialQueue: Sendable {
    private let queue: DispatchQueue
    private let owner = LockOwner<Void>()

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Runs a closure once all earlier ones have returned, or immediately if this thread is running one of them.
    func sync<Result>(_ body: () throws -> Result) rethrows -> Result {
        if owner.resource != nil { return try body() }
        return try queue.sync { try owner.own(()) { try body() } }
    }
}
