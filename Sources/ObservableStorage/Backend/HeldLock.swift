import Foundation

/// Remembers which thread holds a lock, for what has to be done under it once more.
final class HeldLock<Held: Sendable>: Sendable {
    private struct Holder: Sendable {
        let thread: ObjectIdentifier
        let held: Held
    }

    private let holder = Guarded<Holder?>(nil)

    /// What this thread holds the lock of.
    var held: Held? {
        let current = ObjectIdentifier(Thread.current)
        return holder.withLock { $0?.thread == current ? $0?.held : nil }
    }

    /// Does something while this thread holds the lock of something.
    func holding<Result>(_ held: Held, _ body: () throws -> Result) rethrows -> Result {
        let own = Holder(thread: ObjectIdentifier(Thread.current), held: held)
        holder.withLock { $0 = own }
        defer { holder.withLock { $0 = nil } }
        return try body()
    }
}
