import Dispatch

/// Closes files on a queue of its own, because closing a file that has no name any more deletes it, which takes as long as writing it.
///
/// They wait a little first: a thread that deletes them at once takes the processor from the one that has something to tell, and what is
/// on its way to the disk then is part of what the next writer waits for.
///
/// Only so many wait at a time. One more is closed at once: a process has only so many descriptors, and who writes faster than the
/// system deletes has to wait for it somewhere.
final class LaterCloser: Sendable {
    private let queue: DispatchQueue
    private let delay: DispatchTimeInterval
    private let mostWaiting: Int
    private let close: @Sendable (Int32) -> Void
    private let waiting = Guarded(0)

    init(queue: DispatchQueue, delay: DispatchTimeInterval, mostWaiting: Int, close: @escaping @Sendable (Int32) -> Void) {
        self.queue = queue
        self.delay = delay
        self.mostWaiting = mostWaiting
        self.close = close
    }

    /// Closes a file some time later, or now if too many wait already.
    func closeLater(_ descriptor: Int32) {
        let mayWait = waiting.withLock { waiting in
            guard waiting < mostWaiting else { return false }
            waiting += 1
            return true
        }
        guard mayWait else { return close(descriptor) }
        queue.asyncAfter(deadline: .now() + delay) {
            self.close(descriptor)
            self.waiting.withLock { $0 -= 1 }
        }
    }
}
