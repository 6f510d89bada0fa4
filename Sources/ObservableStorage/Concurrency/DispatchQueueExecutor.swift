package import Dispatch

/// Runs an actor on a serial dispatch queue, so that blocking calls never block the cooperative thread pool.
package final class DispatchQueueExecutor: SerialExecutor, TaskExecutor {
    /// The serial queue; work that runs on it runs on the actor.
    package let queue: DispatchQueue
    private static let key = DispatchSpecificKey<UInt64>()
    private let number = uniqueNumber()
    private let isPreferred: Bool

    /// - Parameter isPreferred: whether all tasks on it prefer it as their task executor, and continue here after each suspension, instead
    ///   of being enqueued once more for each call of the actor to itself.
    package init(label: String, isPreferred: Bool = false) {
        self.isPreferred = isPreferred
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: Self.key, value: number)
    }

    var isCurrent: Bool {
        DispatchQueue.getSpecific(key: Self.key) == number
    }

    /// Whether the caller runs on the queue of any such actor.
    static var isAnyCurrent: Bool {
        DispatchQueue.getSpecific(key: key) != nil
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in
            if isPreferred {
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            } else {
                job.runSynchronously(on: asUnownedSerialExecutor())
            }
        }
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }
}
