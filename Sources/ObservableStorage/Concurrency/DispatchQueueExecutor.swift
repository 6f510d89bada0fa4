import Dispatch

/// Runs an actor on a serial dispatch queue, so that blocking calls never block the cooperative thread pool.
final class DispatchQueueExecutor: SerialExecutor {
    /// The serial queue; work that runs on it runs on the actor.
    let queue: DispatchQueue
    private let key = DispatchSpecificKey<ObjectIdentifier>()
    private static let anyKey = DispatchSpecificKey<Bool>()

    init(label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: key, value: ObjectIdentifier(self))
        queue.setSpecific(key: Self.anyKey, value: true)
    }

    /// Whether the caller runs on the queue.
    var isCurrent: Bool {
        DispatchQueue.getSpecific(key: key) == ObjectIdentifier(self)
    }

    /// Whether the caller runs on the queue of any store.
    static var isAnyCurrent: Bool {
        DispatchQueue.getSpecific(key: anyKey) == true
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }
}
