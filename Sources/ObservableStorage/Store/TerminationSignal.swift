import Dispatch
public import FoundationSubset

extension ObservableStore {
    /// Returns after the store was closed, and closes it when the task is cancelled: for the `run()` of a service; see <doc:Services>.
    ///
    /// ```swift
    /// let settings = Task { try await store.run() }
    /// settings.cancel()
    /// try await settings.value    // the edits are written, and the store is closed
    /// ```
    ///
    /// - Throws: ``StorageError`` if the pending edits cannot be written; the store then stays open, and nothing is lost.
    public nonisolated(nonsending) func run() async throws(StorageError) {
        try requireOriginalProcess()
        // Ends when the store is closed, and when the task is cancelled.
        for await _ in availabilityUpdates {}
        try await close()
    }

    /// Writes the pending edits of all stores of the process when a signal arrives that ends it, and then lets the signal end it.
    ///
    /// The process waits for the edits as long as at its normal exit, see ``exitTimeout``; edits that cannot be written in that time are
    /// logged. Then the signal's previous action is restored and the signal is sent again, so that the process ends as it would have
    /// without this call, and its parent sees the signal in the exit status.
    ///
    /// - A handler that the application installed before this call, with `signal` or `sigaction`, runs after the edits are written.
    /// - A signal that is ignored at the time of this call stays ignored, as for a process started with `nohup`.
    /// - The application's dispatch sources for the same signal receive it too. A process that ends by itself after a signal, such as a
    ///   service group, needs ``run()`` instead, or `exit`, which writes the edits.
    ///
    /// ```swift
    /// let termination = ObservableStore.flushOnTermination()
    /// ```
    ///
    /// - Parameter signals: the numbers of the signals; by default those of service managers and of Control-C.
    /// - Returns: a token that restores the previous actions when it is cancelled or released.
    public static func flushOnTermination(_ signals: [Int32] = [SIGTERM, SIGINT]) -> ObservationToken {
        let handled = signals.compactMap { TerminationSignal($0) }
        return ObservationToken { for signal in handled { signal.cancel() } }
    }
}

/// A signal that ends the process after the edits of its stores were written.
private final class TerminationSignal: @unchecked Sendable {
    // Sendable because Dispatch synchronizes the source, and all other state is immutable.

    // One queue for all signals, so that they are handled one after the other; the queues of stores may be busy.
    private static let queue = DispatchQueue(label: "ObservableStore termination")

    private let source: any DispatchSourceSignal
    private let end = DispatchGroup()

    /// Handles a signal; returns nil if it is ignored at present.
    init?(_ number: Int32) {
        let previous = Self.action(of: number)
        guard Self.handler(of: previous) != unsafeBitCast(SIG_IGN, to: Int.self) else { return nil }
        Self.prepareForDispatch(number)
        source = DispatchSource.makeSignalSource(signal: number, queue: Self.queue)
        let registered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { registered.signal() }
        source.setEventHandler {
            StoreRegistry.all.writeAll()
            // A handler of Dispatch, for an earlier source, would only pass the signal to the sources again.
            let isOfDispatch = Self.handler(of: previous) == Self.handler(of: Self.action(of: number))
            Self.restore(number, isOfDispatch ? sigaction() : previous)
            Self.send(number)
        }
        end.enter()
        source.setCancelHandler { [end] in
            Self.restore(number, previous)
            end.leave()
        }
        source.activate()
        registered.wait()
    }

    /// Restores the signal's previous action, and returns after that.
    func cancel() {
        source.cancel()
        end.wait()
    }

    private static func action(of number: Int32) -> sigaction {
        var action = sigaction()
        sigaction(number, nil, &action)
        return action
    }

    private static func restore(_ number: Int32, _ previous: sigaction) {
        var previous = previous
        sigaction(number, &previous, nil)
    }

    /// Sends the signal to this thread, which unblocks it.
    private static func send(_ number: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }
}

#if canImport(Darwin)
    extension TerminationSignal {
        fileprivate static func handler(of action: sigaction) -> Int {
            unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
        }

        /// Ignores the signal, which Dispatch receives nevertheless, so that it does not end the process.
        fileprivate static func prepareForDispatch(_ number: Int32) {
            signal(number, SIG_IGN)
        }
    }
#else
    extension TerminationSignal {
        /// Does nothing: Dispatch installs a handler, without which signals on threads that do not block them would be lost.
        fileprivate static func prepareForDispatch(_ number: Int32) {}
    }
#endif

#if canImport(Glibc)
    extension TerminationSignal {
        fileprivate static func handler(of action: sigaction) -> Int {
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        }
    }
#elseif canImport(Musl)
    extension TerminationSignal {
        fileprivate static func handler(of action: sigaction) -> Int {
            unsafeBitCast(action.__sa_handler.sa_handler, to: Int.self)
        }
    }
#endif
