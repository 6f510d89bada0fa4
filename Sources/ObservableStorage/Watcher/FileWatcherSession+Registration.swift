import Dispatch

// Watching the path, or polling it while it cannot be watched.
extension FileWatcherSession {
    /// Watches the path for the first time, or after polling.
    func register(_ service: WatchService) throws(WatchError) {
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
    func update(after events: PathEvents) -> TargetState {
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

    func fallBack(_ error: WatchError) {
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
        guard let (delay, _) = state.withLock({ $0.handler == nil ? nil : $0.backoff.scheduleRetry() }) else { return }
        queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            state.withLock { $0.backoff.isScheduled = false }
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

    /// Starts polling, unless the path is polled already.
    func poll(every interval: Duration, cause: String? = nil) {
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
