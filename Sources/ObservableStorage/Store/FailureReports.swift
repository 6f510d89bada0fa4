import Dispatch
import FoundationSubset

/// Errors without a caller to throw to. Without a subscriber, they are kept for the first one, and logged if there is none within a second
/// or at the end of the process. Those at the end of the process are logged in any case.
final class FailureReports: Sendable {
    private static let maximumUndelivered = 16
    private static let maximumLogged = 64
    // Instances with errors to log; the end of the process does not wait for their delay.
    private static let waiting = Lock<[ObjectIdentifier: FailureReports]>([:])
    // Held while errors are logged, for which the end of the process waits.
    private static let logging = Lock(())

    private let publisher = ChangePublisher<StorageError>()
    // The errors kept for the first subscriber, those that will be logged, and those that are not logged again, because repeated attempts
    // fail for the same reason.
    private let state = Lock<(undelivered: [StorageError], unlogged: [StorageError], logged: Set<StorageError>)>(([], [], []))
    private let log: @Sendable (String) -> Void
    private let afterGrace: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    /// - Parameter afterGrace: runs a closure after the time given to subscribers.
    init(
        log: @escaping @Sendable (String) -> Void = FailureReports.log,
        afterGrace: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void = {
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1), execute: $0)
        }
    ) {
        self.log = log
        self.afterGrace = afterGrace
    }

    func report(_ error: StorageError) {
        var deliveries = Deliveries()
        // At the end of the process, a subscriber may never run again.
        let isEnding = StoreRegistry.all.isEnding
        let isFirst = state.withLock { state in
            if !publisher.isIdle {
                publisher.post(error, to: &deliveries)
                guard isEnding else { return false }
            }
            state.undelivered = state.undelivered.suffix(Self.maximumUndelivered - 1) + [error]
            guard state.logged.count < Self.maximumLogged, state.logged.insert(error).inserted else { return false }
            state.unlogged.append(error)
            return state.unlogged.count == 1
        }
        deliveries.deliver()
        guard isFirst else { return }
        // A forked child has none of the threads that would log the error later.
        guard !StoreRegistry.all.isForkedChild, !isEnding else { return logUndelivered() }
        Self.waiting.withLock { $0[ObjectIdentifier(self)] = self }
        afterGrace { self.logUndelivered() }
    }

    /// Allows failures to be logged again after a recovery: the same failure may occur again.
    func recovered() {
        state.withLock { $0.logged = Set($0.unlogged) }
    }

    /// The errors not delivered yet, and those from now on.
    var stream: AsyncStream<StorageError> {
        AsyncStream.observing { continuation in
            var deliveries = Deliveries()
            defer { deliveries.deliver() }
            return state.withLock { state in
                defer { (state.undelivered, state.unlogged) = ([], []) }
                return publisher.add(initial: state.undelivered, .stream(continuation), to: &deliveries)
            }
        }
    }

    func finish() {
        publisher.finish()
    }

    /// Logs the undelivered errors of all instances; returns after they are logged, by any thread.
    static func logAllUndelivered() {
        let reports = logging.withLock { _ in waiting.withLock { Array($0.values) } }
        for reports in reports { reports.logUndelivered() }
    }

    private func logUndelivered() {
        Self.logging.withLock { _ in
            Self.waiting.withLock { $0[ObjectIdentifier(self)] = nil }
            let errors = state.withLock { state in
                defer { state.unlogged = [] }
                return state.unlogged
            }
            for error in errors { log("ObservableStorage: \(error)") }
        }
    }
}

#if canImport(os)
    import os

    extension FailureReports {
        private static let logger = Logger(subsystem: "ObservableStorage", category: "failures")

        static func log(_ line: String) {
            logger.error("\(line, privacy: .public)")
        }
    }
#else
    extension FailureReports {
        /// Writes a line to standard error, in one write.
        static func log(_ line: String) {
            let text = line.printableLine + "\n"
            text.utf8.withContiguousStorageIfAvailable { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
#endif
