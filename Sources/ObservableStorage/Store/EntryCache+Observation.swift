import PropertyListCoding

// Subscribing to entries, and notifying those who observe them.
extension EntryCache {
    func post(
        _ change: EntryChange, among changes: inout ChangesByKey?, to state: inout EntryCacheState, muting muted: UInt64,
        _ deliveries: inout Deliveries
    ) {
        for observers in change.entry.content.observers {
            // Usually the change itself.
            let isWhole = observers.readsOneEntry && !state.layers.mayHideStored
            guard let affecting = isWhole ? change : change.affecting(observers.name, among: &changes, in: &state) else { continue }
            observers.post(affecting, muting: muted, to: &deliveries)
        }
        if state.hasAllObservers, !change.key.hasPrefix(EntryName.hiddenPrefix) {
            allObservers.post(change, muting: muted, to: &deliveries)
        }
        if change.entry.isTracked { change.entry.postMutation(to: &deliveries) }
        if state.ownChanges.isEmpty { return }
        let thread = DeliveryThread.current.number
        state.ownChanges[thread] = state.ownChanges[thread]?.map { name, changed in
            let read = EntryName(own: change.key, path: name.earlier.contains(change.key) ? [] : name.path)
            return (name, read.leaf(change.old.stored) == read.leaf(change.new.stored) ? changed : changed.union([change.key]))
        }
    }

    /// Ends every observation; later ones end immediately.
    func finish() {
        let (ends, entries, _) = take { state in
            var ends = Deliveries()
            let entries = Array(state.entries.touched)
            let ended = entries.flatMap { entry in
                defer { entry.content.observers = [] }
                return entry.content.observers.filter { $0.name.own == entry.name }
            }
            for observers in ended { observers.postFinish(to: &ends) }
            allObservers.postFinish(to: &ends)
            return (ends, entries, ended)
        }
        deliver(ends)
        releaseReadings(of: entries)
    }

    /// Subscribes to one key. With `initial`, the current value is delivered first, as a change from itself.
    ///
    /// - Parameter read: called with the state before the first change.
    func observe<Value>(
        _ key: StorageKey<Value>, initial: Bool = false, _ observer: Observer<Change<Value>>,
        reading read: (inout EntryCacheState) -> Void = { _ in }
    ) -> ObservationToken {
        var first = Deliveries()
        let token = update { state in
            let observers = observers(of: key, in: &state)
            read(&state)
            return observers.add(initial: initial ? state.current(observers.name) : nil, observer, to: &first)
        }
        watchStart?.request()
        deliver(first)
        return token
    }

    private func observers<Value>(of key: StorageKey<Value>, in state: inout EntryCacheState) -> KeyObservers<Value> {
        let name = key.definition.entryName
        let own = state.entries.ensureEntry(name.own)
        // A key has one type.
        if let known = own.content.observers.first(where: { $0.key == key.definition.id }) {
            return unsafeDowncast(known, to: KeyObservers<Value>.self)
        }
        let observers = KeyObservers(key, of: self)
        guard !allObservers.isFinished else {
            // Without subscribers, nothing is delivered.
            var none = Deliveries()
            observers.postFinish(to: &none)
            return observers
        }
        for entry in name.all { state.entries.ensureEntry(entry).content.observers.append(observers) }
        return observers
    }

    func forgetIfIdle(_ observers: any EntryObservers) {
        take { state -> [Entry] in
            guard observers.isIdle else { return [] }
            let names = observers.name.all
            for name in names { state.entries.entry(name)?.content.observers.removeAll { $0 === observers } }
            return names.compactMap { state.entries.forgetIfVacant($0) }
        }
    }

    /// Subscribes to every entry, and calls a closure with the state before the first change.
    func observeAll(
        _ observer: Observer<Change<PropertyListValue?>>, reading read: (inout EntryCacheState) -> Void = { _ in }
    ) -> ObservationToken {
        var first = Deliveries()
        let token = update { state in
            read(&state)
            state.hasAllObservers = true
            return allObservers.add(
                observer.subscription, to: &first,
                onCancel: { [weak self] in
                    guard let self else { return }
                    update { $0.hasAllObservers = !allObservers.isIdle }
                })
        }
        watchStart?.request()
        deliver(first)
        return token
    }

    /// Calls a closure at the end of every observation, for a stream that observes no key.
    func observeEnd(_ onFinish: @escaping @Sendable () -> Void) -> ObservationToken {
        observeAll(Observer(isStream: true, onReceive: { _ in }, onFinish: onFinish))
    }
}

extension EntryChange {
    /// The change as it appears to observers of the entry, of a value inside it, or of an entry that falls back to it; nil if it does not
    /// affect them.
    ///
    /// - Parameters:
    ///   - changes: all changes of the same revision; nil if there are no others.
    ///   - state: the state after them.
    func affecting(_ name: EntryName, among changes: inout ChangesByKey?, in state: inout EntryCacheState) -> EntryChange? {
        if name.path.isEmpty, !name.hasOthers, !state.layers.hidesStored(name) { return self }
        let parts = name.hasOthers && changes != nil ? name.all.flatMap { changes?[$0] ?? [] } : [self]
        func part(_ entry: String) -> EntryChange? { entry == key ? self : parts.first { $0.key == entry } }
        // The changes of one step are delivered as one: with that of the key's own entry, or else with the first.
        guard (part(name.own) ?? parts.min { $0.key < $1.key })?.key == key else { return nil }
        // Of an entry of which one value was edited, a change may have that value only, before and after.
        let before: (String) -> PropertyListValue? = { name in part(name).map(\.old.stored) ?? state.entries[name] }
        let after: (String) -> PropertyListValue? = { name in part(name).map(\.new.stored) ?? state.entries[name] }
        let (old, new) = (state.layers.entry(name, before), state.layers.entry(name, after))
        // The fallback may be in effect in place of another value that is invalid.
        guard old.stored != new.stored || old.fallback != new.fallback, new.source != .override else { return nil }
        func previous(_ location: EntryName) -> [PropertyListValue] {
            let history = part(location.own).map(\.history?.value) ?? state.entries.entry(location.own)?.content.history
            return history?.earlier(location) ?? []
        }
        let source = part(name.location(of: new.source) { state.entries[$0] }.own) ?? self
        let earlier = EarlierValues(
            mandatory: state.layers.earlier(.mandatory, name), stored: previous(name.location(before)),
            fallback: name.fallbackLocation(before).map(previous) ?? [], registered: state.layers.earlier(.registered, name))
        var earlierThanNew = earlier.after(old)
        if name.hasEarlier {
            // Under another name, what that one had before counts, as for readers.
            let present = state.earlier(name)
            if name.location(before) != name.location(after) { earlierThanNew.stored = present.stored }
            if name.fallbackLocation(before) != name.fallbackLocation(after) { earlierThanNew.fallback = present.fallback }
        }
        return EntryChange(
            key: name.text, old: old, new: new, earlier: earlier, earlierThanNew: earlierThanNew, isRemoval: old.isRemoved(in: new),
            origin: origin, revision: revision, storageRevision: storageRevision, entry: source.entry, version: source.version)
    }
}
