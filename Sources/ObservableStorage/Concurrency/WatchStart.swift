import Dispatch
import Synchronization

/// The moment from which a store watches its storages: when it is first observed, or a short time after it was opened.
///
/// A program that opens a store, reads and ends watches nothing: watching takes more system calls than reading, and the kernel takes
/// milliseconds to end the watches of a process.
final class WatchStart: Sendable {
    /// How long a store that is not observed may have values that another process has changed since it was opened.
    static let delay: DispatchTimeInterval = .milliseconds(50)

    private let queue: DispatchQueue
    private let isRequested = Atomic(false)
    // Nil after it was requested.
    private let waiting = Lock<[@Sendable () -> Void]?>([])

    init(on queue: DispatchQueue) {
        self.queue = queue
    }

    /// Runs a closure when watching is to start: immediately if it was requested already.
    func perform(_ work: @escaping @Sendable () -> Void) {
        let isWaiting = waiting.withLock { waiting in
            waiting?.append(work)
            return waiting != nil
        }
        if !isWaiting { work() }
    }

    /// Starts watching, after queued work; only the first call has an effect.
    func request() {
        // Each subscription requests it.
        if isRequested.load(ordering: .relaxed) || isRequested.exchange(true, ordering: .relaxed) { return }
        queue.async { [self] in
            let waiting = waiting.withLock { $0.take() } ?? []
            for work in waiting { work() }
        }
    }

    /// Starts watching after the delay, if anything waits for it, unless this object is released before.
    func requestLater() {
        guard waiting.withLock({ $0?.isEmpty == false }) else { return }
        queue.asyncAfter(deadline: .now() + Self.delay) { [weak self] in self?.request() }
    }
}
