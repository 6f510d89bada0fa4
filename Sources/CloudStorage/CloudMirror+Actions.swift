import ObservableStorage

// MARK: - Actions

extension CloudMirror {
    /// - Parameter time: the time of the input; nil for now.
    func handle(_ input: CloudMirrorState.Input, at time: Int64? = nil) {
        var (inputs, time) = ([input], time)
        while !inputs.isEmpty {
            guard let actions = state?.handle(inputs.removeFirst(), now: time.take() ?? clock()) else { return }
            inputs += perform(actions)
        }
    }

    /// Performs actions, and returns the pulls that were skipped because the store did not have the expected value any more.
    private func perform(_ actions: [CloudMirrorState.Action]) -> [CloudMirrorState.Input] {
        var (pulls, stamps, hasPushed): ([ObservableStore.Replacement], EntryEdits, Bool) = ([], [:], false)
        for action in actions {
            switch action {
            case .pull(let name, let old, let new, let stamp):
                guard let key = state?.registers[name]?.key else { continue }
                pulls.append((key, old, new, (CloudStamp.entryName(of: name), stamp.entry(beside: new))))
            case .setStamp(let name, let stamp):
                stamps.updateValue(stamp?.entry(beside: state?.value(of: name)), forKey: CloudStamp.entryName(of: name))
            case .push(let name, let entry):
                remote.set(entry, forKey: name)
                hasPushed = true
            case .readLater:
                delays += 1
                afterDelay(backoff.fail()) { [weak self, delays] in
                    self?.perform { mirror in
                        if mirror.delays == delays { mirror.handle(.delayEnded(mirror.remote.values())) }
                    }
                }
            case .report(let event): report(event)
            }
        }
        // Before the times are stored: after a crash that loses a value in the cloud's memory, a stored time would say that it was pushed.
        if hasPushed { remote.synchronize() }
        do throws(StorageError) {
            let skipped = try store.replace(pulls)
            try store.setMetadata(stamps)
            confirmStored(pulls)
            return skipped.map { name, value in .pullSkipped(name, value) }
        } catch {
            if error != .closed { store.report(error) }
            end()
            return []
        }
    }

    /// Reports when pulled values are written: a change that is found in the storage afterwards was made after the pull.
    private func confirmStored(_ pulls: [ObservableStore.Replacement]) {
        if pulls.isEmpty { return }
        Task { [weak self, store] in
            do {
                try await store.flush(to: .journal)
            } catch {
                // The store has reported the error, and retries.
                return
            }
            let present = store.entries(of: pulls.map(\.key.name))
            let stored = pulls.reduce(into: EntryEdits()) { stored, pull in
                if present[pull.key.name] == pull.new { stored.updateValue(pull.new, forKey: pull.key.name) }
            }
            self?.perform { $0.handle(.stored(stored)) }
        }
    }

    private func report(_ event: Event) {
        publisher.publish(event)
        switch event {
        case .downloadBegan, .accountChanged: break
        case .quotaExceeded: store.report(.unmirrored(key: nil, reason: "iCloud is full; remove something from it"))
        case .refused(let key, let reason): store.report(.unmirrored(key: key, reason: reason))
        case .rejected(let error): store.report(error)
        }
    }
}
