import Dispatch

/// The state of one watcher: it receives events on any thread; on its queue it updates the watches, waits for writers, and reports.
final class FileWatcherSession: Sendable {
    struct State {
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
        /// Processed together; not empty at the start, so that nothing is reported before the first event.
        var events: PathEvents = .registered
    }

    let path: String
    /// The reason why the path cannot be used at all, so that it is not polled either.
    private let rejection: StorageError?
    let queue: DispatchQueue
    let options: FileWatcherOptions
    let state: Lock<State>

    init(
        path: String, queue: DispatchQueue, options: FileWatcherOptions, handler: @escaping @Sendable (FileWatcher.Event) -> Void
    ) {
        do throws(StorageError) {
            self.path = try AbsolutePath.fromRoot(path, of: path, calls: options.calls)
            rejection = nil
        } catch {
            self.path = path
            rejection = error
        }
        self.queue = queue
        self.options = options
        state = Lock(State(handler: handler, debouncer: Debouncer(quiet: options.quiet, limit: options.limit)))
    }

    /// Starts to watch the path, or to poll it, and schedules the first report.
    func start() {
        do throws(WatchError) {
            if let rejection {
                state.withLock { $0.notices = [.fallback(rejection)] }
            } else if let service = options.service {
                try register(service)
            } else {
                poll(every: options.pollInterval)
            }
        } catch {
            fallBack(error)
        }
        queue.async { [weak self] in self?.process() }
    }

    /// Replaces the file; see ``WatchRegistration/withoutEvents(_:)``.
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

    /// Pauses the events of writes to the file; see ``WatchRegistration/pauseWrites()``.
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

extension FileWatcherSession {
    /// Receives events on any thread; several are processed together.
    func receive(_ events: PathEvents) {
        let isFirst = state.withLock { state in
            defer { state.events.formUnion(events) }
            return state.events.isEmpty && !events.isEmpty && state.handler != nil
        }
        if isFirst { queue.async { [weak self] in self?.process() } }
    }

    private func process() {
        let (events, wasUpdateDue) = state.withLock { state in
            defer {
                if state.events.needsUpdateLater { state.isUpdateDue = true }
                state.events = []
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

    func report() {
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
