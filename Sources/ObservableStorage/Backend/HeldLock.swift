import Foundation

/// Remembers which thread holds a file's lock, for what has to be done under it once more.
final class HeldLock: Sendable {
    private struct Holder: Sendable {
        let thread: ObjectIdentifier
        let path: String
    }

    private let holder = Guarded<Holder?>(nil)

    /// The path of the file whose lock this thread holds.
    var path: String? {
        let current = ObjectIdentifier(Thread.current)
        return holder.withLock { $0?.thread == current ? $0?.path : nil }
    }

    /// Does something while this thread holds the lock of a file.
    func holding<Result>(_ path: String, _ body: () throws -> Result) rethrows -> Result {
        let own = Holder(thread: ObjectIdentifier(Thread.current), path: path)
        holder.withLock { $0 = own }
        defer { holder.withLock { $0 = nil } }
        return try body()
    }
}
