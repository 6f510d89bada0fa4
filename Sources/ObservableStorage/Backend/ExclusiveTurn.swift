import Dispatch

/// Lets one thread at a time do something that may wait, and that may call code which asks for the turn once more.
final class ExclusiveTurn: Sendable {
    private let queue: DispatchQueue
    private let lock = HeldLock<Void>()

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Waits for the turn and does something in it; at once if this thread has it already.
    func take<Result>(_ body: () throws -> Result) rethrows -> Result {
        if lock.held != nil { return try body() }
        return try queue.sync { try lock.holding(()) { try body() } }
    }
}
