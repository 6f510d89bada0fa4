import Dispatch

/// Closes files on a queue of its own, because closing a file that has no name any more deletes it, which takes as long as writing it.
///
/// They wait a little first: a thread that deletes them at once takes the processor from the one that has something to tell, and what is
/// on its way to the disk then is part of what the next writer waits for.
///
/// Only so many wait at a time. One more is closed at once: a process has only so many descriptors, and who writes faster than the
/// system deletes has to wait for it somewhere. Who needs their room or their descriptors does not wait for their time.
final class LaterCloser: Sendable {
    private let queue: DispatchQueue
    private let delay: DispatchTimeInterval
    private let mostWaiting: Int
    private let close: @Sendable (Int32) -> Void
    private let waiting = Guarded(Waiting())

    private struct Waiting {
        var descriptors: Set<Int32> = []
        /// How many are not closed yet, those included that are just being closed.
        var count = 0
    }

    init(queue: DispatchQueue, delay: DispatchTimeInterval, mostWaiting: Int, close: @escaping @Sendable (Int32) -> Void) {
        self.queue = queue
        self.delay = delay
        self.mostWaiting = mostWaiting
        self.close = close
    }

    /// Closes a file some time later, or now if too many wait already.
    func closeLater(_ descriptor: Int32) {
        let mayWait = waiting.withLock { waiting in
            guard waiting.count < mostWaiting else { return false }
            waiting.descriptors.insert(descriptor)
            waiting.count += 1
            return true
        }
        guard mayWait else { return close(descriptor) }
        queue.asyncAfter(deadline: .now() + delay) { self.closeIfWaiting(descriptor) }
    }

    /// Closes what waits, and returns when it is closed; false if nothing waited.
    func closeWaiting() -> Bool {
        guard waiting.withLock({ $0.count > 0 }) else { return false }
        // On the queue, behind what it is just closing.
        queue.sync {
            for descriptor in waiting.withLock({ $0.descriptors }) { closeIfWaiting(descriptor) }
        }
        return true
    }

    /// Closes a file unless that was done before its time; called on the queue.
    func closeIfWaiting(_ descriptor: Int32) {
        // Taken first: once it is closed, another file may get its number.
        guard waiting.withLock({ $0.descriptors.remove(descriptor) }) != nil else { return }
        close(descriptor)
        waiting.withLock { $0.count -= 1 }
    }
}
