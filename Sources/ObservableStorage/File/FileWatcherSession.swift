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
        /// What is to be told before the next look.
        var notices: [FileWatcher.Event] = []
        var mountedFile: String?
        var backoff = Backoff()
        var isRetryTimed = false
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
                try arm(notifier)
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

    /// Watches the path for the first time, or again after it was polled.
    private func arm(_ notifier: any FileWatcherNotifier) throws(FileWatcherObstacle) {
        let arming = try notifier.watch(path) { [weak self] in self?.signal($0) }
        let (isLate, poll) = state.withLock { state -> (Bool, FileWatcherPoll?) in
            guard state.handler != nil else { return (true, nil) }
            state.arming = arming
            state.mechanism = notifier.mechanism
            return (false, state.poll.take())
        }
        if isLate { return arming.cancel() }
        poll?.cancel()
        armed(arming)
    }

    private func rearm(after signals: FileWatcherSignals) -> FileWatcherFound {
        let arming = state.withLock { state in
            state.isArmingDue = false
            return state.arming
        }
        guard let arming else { return .ready }
        do throws(FileWatcherObstacle) {
            let found = try arming.rearm(after: signals)
            // Not when it is first armed: what fails each time it is armed again is not to be tried all the time.
            state.withLock { $0.backoff.succeed() }
            armed(arming)
            return found
        } catch {
            arming.cancel()
            fallBack(error)
            return .ready
        }
    }

    /// Makes up for what the arming does not notice, or says that nobody can.
    private func armed(_ arming: any FileWatcherArming) {
        if arming.isPartial { poll(every: options.layerInterval) }
        let mountedFile = arming.mountedFile
        state.withLock { state in
            if let mountedFile, mountedFile != state.mountedFile {
                state.notices.append(.incomplete(.mountedFile(file: mountedFile)))
            }
            state.mountedFile = mountedFile
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
        let (notices, isArmingDue) = state.withLock { state in
            state.settling.looked()
            defer { state.notices = [] }
            return (state.notices, state.isArmingDue)
        }
        for notice in notices { deliver(notice) }
        deliver(.lookAgain)
        // After that there is another look, for what was written meanwhile and told by nobody.
        if isArmingDue { act { $0.wrote(at: .now) } }
    }

    private func deliver(_ event: FileWatcher.Event) {
        let handler = state.withLock { $0.handler }
        handler?(event)
    }

    /// Does without notices, until they can be had again.
    private func fallBack(_ obstacle: FileWatcherObstacle) {
        let poll = state.withLock { state in
            state.arming = nil
            state.mechanism = .polling
            state.mountedFile = nil
            state.notices.append(.fallback(.unwatchable(file: path, reason: obstacle.reason)))
            return state.poll.take()
        }
        poll?.cancel()
        self.poll(every: options.pollInterval, obstacle: obstacle.path)
        retryLater()
    }

    private func retryLater() {
        guard options.retriesWithBackoff else { return }
        let delay = state.withLock { state -> DispatchTimeInterval? in
            guard !state.isRetryTimed, state.handler != nil else { return nil }
            state.isRetryTimed = true
            return state.backoff.fail()
        }
        guard let delay else { return }
        queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isRetryTimed = false }
            if !recover() { retryLater() }
        }
    }

    /// Tries to be notified again, and returns whether that is so.
    private func recover() -> Bool {
        guard let notifier = options.notifier, state.withLock({ $0.arming == nil && $0.handler != nil }) else { return true }
        do throws(FileWatcherObstacle) {
            try arm(notifier)
        } catch {
            return false
        }
        state.withLock { $0.notices.append(.recovered($0.mechanism)) }
        look()
        return true
    }

    /// Looks from time to time from now on, unless that is so already.
    private func poll(every interval: Duration, obstacle: String? = nil) {
        guard state.withLock({ $0.poll == nil && $0.handler != nil }) else { return }
        let poll = FileWatcherPoll(path: path, obstacle: obstacle, queue: queue, interval: interval) { [weak self] in self?.polled($0) }
        let isLate = state.withLock { state in
            guard state.handler != nil else { return true }
            state.poll = poll
            return false
        }
        if isLate { poll.cancel() }
    }

    private func polled(_ news: FileWatcherPoll.News) {
        if state.withLock({ $0.arming != nil }) {
            // What the notifier did not tell may be another way to the file.
            signal(.rerouted)
        } else if options.notifier == nil || !recover(), news.ofFile {
            look()
        }
    }
}
