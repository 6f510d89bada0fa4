import Dispatch

/// Closes files in batches, after a delay, on its queue: closing a file without a name deletes it, which takes as long as writing it.
///
/// The delay leaves the processor to the thread that has a change to deliver, and the disk to the next write.
///
/// Only a limited number of files is kept open; one more is closed immediately, because descriptors are limited, and a process that writes
/// faster than the system deletes has to wait at some point. A call that needs their descriptors or their space closes them earlier.
final class DeferredCloser: Sendable {
    private let queue: DispatchQueue
    private let delay: DispatchTimeInterval
    private let maximumWaiting: Int
    private let close: @Sendable (Int32) -> Void
    /// The descriptors of the next batch, and the number of files that are not closed yet, including those that are being closed.
    private let waiting = Lock<(descriptors: [Int32], count: Int)>(([], 0))

    init(queue: DispatchQueue, delay: DispatchTimeInterval, maximumWaiting: Int, close: @escaping @Sendable (Int32) -> Void) {
        self.queue = queue
        self.delay = delay
        self.maximumWaiting = maximumWaiting
        self.close = close
    }

    /// Closes a file after the delay at most, or immediately if too many are to be closed already.
    func closeLater(_ descriptor: Int32) {
        let (mayWait, isFirst) = waiting.withLock { waiting in
            guard waiting.count < maximumWaiting else { return (false, false) }
            waiting.descriptors.append(descriptor)
            waiting.count += 1
            return (true, waiting.descriptors.count == 1)
        }
        guard mayWait else { return close(descriptor) }
        // One timer for all that come before it: setting it wakes a thread, which may take the processor from this one.
        if isFirst { queue.asyncAfter(deadline: .now() + delay) { self.closeAll() } }
    }

    /// Closes the remaining files, and returns after they are closed; false if there were none.
    func closeWaiting() -> Bool {
        guard waiting.withLock({ $0.count > 0 }) else { return false }
        // On the queue, after the batch that it is closing.
        queue.sync { closeAll() }
        return true
    }

    /// Closes the files that wait. Called on the queue.
    func closeAll() {
        // Removed first: after a file is closed, its number may be reused for another one.
        let descriptors = waiting.withLock { waiting in
            defer { waiting.descriptors = [] }
            return waiting.descriptors
        }
        for descriptor in descriptors {
            close(descriptor)
            waiting.withLock { $0.count -= 1 }
        }
    }
}
