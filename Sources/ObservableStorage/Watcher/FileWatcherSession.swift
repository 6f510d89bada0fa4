import Dispatch

/// The state of one watcher: it receives events on any thread; on its queue it updates the watches, waits for writers, and reports.
final class FileWatcherSession: Sendable {
    private struct State {
        /// Nil once cancelled.
        var handler: (@Sendable (FileWatcher.Event) -> Void)?
        var mechanism = FileWatcher.Mechanism.polling
        var registration: (any WatchRegistration)?
        var poll: ActivatedSource?
        var debouncer: Debouncer
        /// Whether the file has to be watched again after its writers are quiet.
        var isUpdateDue = false
        /// Events to deliver before the next ``FileWatcher/Event/changed``.
        var notices: [FileWatcher.Event] = []
        var mountedFile: String?
        var backoff = Backoff()
        var isRetryScheduled = false
        // Scheduled from the start, so that nothing is reported before the first event.
        var events: PathEvents = .registered
        var isScheduled = true
    }

    private let path: String
    /// The reason why the path cannot be used at all.
    private let rejection: WatchError?
    private let queue: DispatchQueue
    private let options: FileWatcherOptions
    private let state: Lock<State>

    init(
        path: String, queue: DispatchQueue, options: FileWatcherOptions, handler: @escaping @Sendable (FileWatcher.Event) -> Void
    ) {
        do throws(StorageError) {
            self.path = try AbsolutePath.fromRoot(path, of: path, calls: options.calls)
            rejection = nil
        } catch {
            self.path = path
            rejection = if case .unreadable(_, let reason, _) = error { WatchError(reason: reason) } else { WatchError(reason: "\(error)") }
        }
        self.queue = queue
        self.options = options
        state = Lock(State(handler: handler, debouncer: Debouncer(quiet: options.quiet, limit: options.limit)))
    }

    var mechanism: FileWatcher.Mechanism {
        state.withLock { $0.mechanism }
    }

    /// Starts to watch the path, or to poll it, and schedules the first report.
    func start() {
        do throws(WatchError) {
            if let rejection { throw rejection }
            if let service = options.service { try register(service) } else { poll(every: options.pollInterval) }
        } catch {
            fallBack(error)
        }
        queue.async { [weak self] in self?.process() }
    }

    /// Replaces the file; see ``FileWatcher/withoutEvents(_:)``.
    func withoutEvents<Failure: Error>(_ body: () throws(Failure) -> FileIdentity?) throws(Failure) {
        guard let registration = state.withLock({ $0.registration }) else {
            _ = try body()
            return
        }
        guard try registration.withoutEvents(body) else { return }
        // The new file is watched as one that another writer has renamed to the path.
        let action = state.withLock { state in
            state.isUpdateDue = true
            return state.debouncer.modified(at: .now)
        }
        perform(action)
    }

    func pauseWrites() -> (@Sendable () -> Void)? {
        state.withLock { $0.registration }?.pauseWrites()
    }

    func cancel() {
        // Also the handler, whose captures are released after unlocking.
        let (_, registration, poll) = state.take { state in (state.handler.take(), state.registration.take(), state.poll.take()) }
        registration?.cancel()
        poll?.cancel()
    }
}

// MARK: - Events

extension FileWatcherSession {
    /// Receives events on any thread; several are processed together.
    func receive(_ events: PathEvents) {
        let isFirst = state.withLock { state in
            state.events.formUnion(events)
            defer { state.isScheduled = true }
            return !state.isScheduled && state.handler != nil
        }
        if isFirst { queue.async { [weak self] in self?.process() } }
    }

    private func process() {
        let (events, wasUpdateDue) = state.withLock { state in
            defer {
                if state.events.needsUpdateLater { state.isUpdateDue = true }
                state.events = []
                state.isScheduled = false
            }
            return (state.events, state.isUpdateDue)
        }
        let target = events.needsUpdate ? update(after: events) : .ready
        // Watching the new file is not delayed by writers of the replaced one.
        perform(state.withLock { $0.debouncer.changed(events, target: target, mayDelay: !wasUpdateDue, at: .now) })
    }

    private func perform(_ action: Debouncer.Action) {
        switch action {
        case .none: break
        case .wake(let instant):
            queue.asyncAfter(deadline: .after(Debouncer.Instant.now.duration(to: instant))) { [weak self] in self?.woke() }
        case .process: report()
        }
    }

    private func woke() {
        let action = state.withLock { $0.debouncer.woke(at: .now) }
        if action == .process, state.withLock({ $0.isUpdateDue }) { _ = update(after: .replaced) }
        perform(action)
    }

    private func report() {
        let (notices, isUpdateDue) = state.withLock { state in
            state.debouncer.processed()
            defer { state.notices = [] }
            return (state.notices, state.isUpdateDue)
        }
        for event in notices + [.changed] {
            // Loaded for each event, because the handler may cancel the watcher.
            let handler = state.withLock { $0.handler }
            handler?(event)
        }
        // The new file is then watched and reported again, for writes before it was watched.
        if isUpdateDue { perform(state.withLock { $0.debouncer.modified(at: .now) }) }
    }
}

// MARK: - Registration

extension FileWatcherSession {
    /// Watches the path for the first time, or after polling.
    private func register(_ service: WatchService) throws(WatchError) {
        let registration = try service.register(path) { [weak self] in self?.receive($0) }
        let (isLate, poll) = state.withLock { state -> (Bool, ActivatedSource?) in
            guard state.handler != nil else { return (true, nil) }
            state.registration = registration
            state.mechanism = service.mechanism
            return (false, state.poll.take())
        }
        if isLate { return registration.cancel() }
        poll?.cancel()
        registered(registration)
    }

    /// Updates the watches to the current resolution of the path, and returns the state of its file.
    private func update(after events: PathEvents) -> TargetState {
        let registration = state.withLock { state in
            state.isUpdateDue = false
            return state.registration
        }
        guard let registration else { return .ready }
        do throws(WatchError) {
            let target = try registration.update(after: events)
            // Not after the first registration: one that fails at each update would be retried without a delay.
            state.withLock { $0.backoff.succeed() }
            registered(registration)
            return target
        } catch {
            registration.cancel()
            fallBack(error)
            return .ready
        }
    }

    /// Starts polling for changes that the registration does not report, and records a mounted file, whose changes are not all visible.
    private func registered(_ registration: any WatchRegistration) {
        if registration.isPartial { poll(every: options.layerInterval) }
        let mountedFile = registration.mountedFile
        state.withLock { state in
            if let mountedFile, mountedFile != state.mountedFile {
                state.notices.append(.incomplete(.mountedFile(file: mountedFile)))
            }
            state.mountedFile = mountedFile
        }
    }

    /// Polls until the path can be watched again.
    private func fallBack(_ error: WatchError) {
        let poll = state.withLock { state in
            state.registration = nil
            state.mechanism = .polling
            state.mountedFile = nil
            state.notices.append(.fallback(.unwatchable(file: path, reason: error.reason)))
            return state.poll.take()
        }
        poll?.cancel()
        self.poll(every: options.pollInterval, cause: error.path)
        retryLater()
    }

    private func retryLater() {
        guard options.retriesWithBackoff else { return }
        let delay = state.withLock { state -> DispatchTimeInterval? in
            guard !state.isRetryScheduled, state.handler != nil else { return nil }
            state.isRetryScheduled = true
            return state.backoff.fail()
        }
        guard let delay else { return }
        queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isRetryScheduled = false }
            if !recover() { retryLater() }
        }
    }

    /// Tries to watch the path again; returns true if it is watched.
    private func recover() -> Bool {
        guard let service = options.service, state.withLock({ $0.registration == nil && $0.handler != nil }) else { return true }
        do throws(WatchError) {
            try register(service)
        } catch {
            return false
        }
        state.withLock { $0.notices.append(.recovered($0.mechanism)) }
        report()
        return true
    }
}

// MARK: - Polling

extension FileWatcherSession {
    /// Starts polling, unless the path is polled already.
    private func poll(every interval: Duration, cause: String? = nil) {
        guard state.withLock({ $0.poll == nil && $0.handler != nil }) else { return }
        let poll = ActivatedSource.polling(
            path, cause: cause, queue: queue, interval: interval, calls: options.calls
        ) { [weak self] in self?.polled(isFile: $0) }
        let isLate = state.withLock { state in
            guard state.handler != nil else { return true }
            state.poll = poll
            return false
        }
        if isLate { poll.cancel() }
    }

    private func polled(isFile: Bool) {
        if state.withLock({ $0.registration != nil }) {
            // The path may resolve to another file without an event.
            receive(.rerouted)
        } else if options.service == nil || !recover(), isFile {
            report()
        }
    }
}
