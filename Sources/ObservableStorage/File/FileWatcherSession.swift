import Dispatch

/// One watcher's work: it gathers signals from any thread, and on its queue arms anew, waits for writers and tells.
final class FileWatcherSession: Sendable {
    private struct State {
        /// Nil once cancelled.
        var handler: (@Sendable (FileWatcher.Event) -> Void)?
        var mechanism = FileWatcher.Mechanism.polling
        var arming: (any FileWatcherArming)?
        var poll: FileWatcherPoll?
        var settling: FileWatcherSettling
        /// Whether what stands at the path's end is to be watched when it is quiet.
        var isArmingDue = false
        var fallback: StorageError?
        // The first look is on its way from the start, so that nothing comes before it.
        var signals: FileWatcherSignals = .armed
        var isScheduled = true
    }

    private let path: String
    /// Why the path leads nowhere.
    private let refusal: AbsolutePath.Refusal?
    private let queue: DispatchQueue
    private let options: FileWatcherOptions
    private let state: Guarded<State>

    init(
        path: String, queue: DispatchQueue, options: FileWatcherOptions, handler: @escaping @Sendable (FileWatcher.Event) -> Void
    ) {
        do throws(AbsolutePath.Refusal) {
            self.path = try AbsolutePath.fromRoot(path)
            refusal = nil
        } catch {
            self.path = path
            refusal = error
        }
        self.queue = queue
        self.options = options
        state = Guarded(State(handler: handler, settling: FileWatcherSettling(quiet: options.quiet, limit: options.limit)))
    }

    var mechanism: FileWatcher.Mechanism {
        state.withLock { $0.mechanism }
    }

    /// Arms the path, or begins to poll it, and sends the first look on its way.
    func start() {
        if let refusal {
            fallBack(FileWatcherObstacle(reason: refusal.reason))
        } else if let notifier = options.notifier {
            do throws(FileWatcherObstacle) {
                let arming = try notifier.watch(path) { [weak self] in self?.signal($0) }
                state.withLock {
                    $0.arming = arming
                    $0.mechanism = notifier.mechanism
                }
                if arming.isPartial { poll(every: options.layerInterval) }
            } catch {
                fallBack(error)
            }
        } else {
            poll(every: options.pollInterval)
        }
        schedule()
    }

    func cancel() {
        let (handler, arming, poll) = state.withLock { state in
            defer {
                state.handler = nil
                state.arming = nil
                state.poll = nil
            }
            return (state.handler, state.arming, state.poll)
        }
        arming?.cancel()
        poll?.cancel()
        // What the handler holds is let go here, after the lock.
        _ = handler
    }

    private func signal(_ signals: FileWatcherSignals) {
        let isFirst = state.withLock { state in
            state.signals.formUnion(signals)
            defer { state.isScheduled = true }
            return !state.isScheduled && state.handler != nil
        }
        if isFirst { schedule() }
    }

    private func schedule() {
        queue.async { [weak self] in self?.drain() }
    }

    private func drain() {
        let (signals, wasArmingDue) = state.withLock { state in
            defer {
                if state.signals.needsArmingLater { state.isArmingDue = true }
                state.signals = []
                state.isScheduled = false
            }
            return (state.signals, state.isArmingDue)
        }
        let found = signals.needsArming ? rearm(after: signals) : .ready
        switch signals.urgency(found) {
        case .none: break
        // What is due is not put off by those who still write to the file that was replaced.
        case .whenQuiet: if !wasArmingDue { act { $0.wrote(at: .now) } }
        case .now: look()
        }
    }

    private func rearm(after signals: FileWatcherSignals) -> FileWatcherFound {
        let arming = state.withLock { state in
            state.isArmingDue = false
            return state.arming
        }
        guard let arming else { return .ready }
        do throws(FileWatcherObstacle) {
            let found = try arming.rearm(after: signals)
            if arming.isPartial { poll(every: options.layerInterval) }
            return found
        } catch {
            arming.cancel()
            fallBack(error)
            return .ready
        }
    }

    private func act(_ step: (inout FileWatcherSettling) -> FileWatcherSettling.Action) {
        switch state.withLock({ step(&$0.settling) }) {
        case .nothing: break
        case .look:
            if state.withLock({ $0.isArmingDue }) { _ = rearm(after: .replaced) }
            look()
        case .wake(let instant):
            let wait = max(0, FileWatcherSettling.Instant.now.duration(to: instant).wholeNanoseconds)
            queue.asyncAfter(deadline: .now() + .nanoseconds(wait)) { [weak self] in
                self?.act { $0.woke(at: .now) }
            }
        }
    }

    private func look() {
        let (fallback, isArmingDue) = state.withLock { state in
            state.settling.looked()
            return (state.fallback.take(), state.isArmingDue)
        }
        if let fallback { deliver(.fallback(fallback)) }
        deliver(.lookAgain)
        // After that there is another look, for what was written meanwhile and told by nobody.
        if isArmingDue { act { $0.wrote(at: .now) } }
    }

    private func deliver(_ event: FileWatcher.Event) {
        let handler = state.withLock { $0.handler }
        handler?(event)
    }

    /// Does without notices from now on.
    private func fallBack(_ obstacle: FileWatcherObstacle) {
        let poll = state.withLock { state in
            state.arming = nil
            state.mechanism = .polling
            state.fallback = .unwatchable(file: path, reason: obstacle.reason)
            return state.poll.take()
        }
        poll?.cancel()
        self.poll(every: options.pollInterval)
    }

    /// Looks from time to time from now on, unless that is so already.
    private func poll(every interval: Duration) {
        guard state.withLock({ $0.poll == nil && $0.handler != nil }) else { return }
        let poll = FileWatcherPoll(path: path, queue: queue, interval: interval) { [weak self] in self?.look() }
        let isLate = state.withLock { state in
            guard state.handler != nil else { return true }
            state.poll = poll
            return false
        }
        if isLate { poll.cancel() }
    }
}
