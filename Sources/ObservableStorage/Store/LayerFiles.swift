import Dispatch
import PropertyListCoding

/// Read-only storages of mandatory values, which take precedence over the stored ones, and of defaults, all watched.
final class LayerFiles: Sendable {
    /// A storage and its values when it was last read.
    private final class Layer: Sendable {
        let backend: any BlockingStorageBackend
        let values = Lock<[String: PropertyListValue]>([:])
        let attempts = Lock(Backoff())

        init(_ backend: any BlockingStorageBackend) {
            self.backend = backend
        }

        func load() throws(StorageError) {
            values.exchange(try ObservableStore.load(backend).values)
        }
    }

    private let mandatory: [Layer]
    private let defaults: [Layer]
    // Nil after the end of watching.
    private let tokens = Lock<[ObservationToken]?>([])

    /// Those with precedence first.
    init(defaults: [any BlockingStorageBackend] = [], mandatory: [any BlockingStorageBackend] = []) {
        self.defaults = defaults.map(Layer.init)
        self.mandatory = mandatory.map(Layer.init)
    }

    func load() throws(StorageError) {
        for layer in mandatory + defaults { try layer.load() }
    }

    /// Reads all storages that can be read, and returns the errors of the others, which have no values.
    func loadReadable() -> [StorageError] {
        (mandatory + defaults).compactMap { layer in
            do throws(StorageError) {
                try layer.load()
                return nil
            } catch {
                return error
            }
        }
    }

    private static func merged(_ layers: [Layer]) -> [String: PropertyListValue] {
        layers.reduce(into: [:]) { merged, layer in
            merged.merge(layer.values.withLock { $0 }) { first, _ in first }
        }
    }

    /// The name of the storage that has a mandatory or a default value.
    func file(of name: String, isMandatory: Bool) -> String? {
        (isMandatory ? mandatory : defaults).first { layer in layer.values.withLock { $0[name] != nil } }?.backend.name
    }

    /// Sets the layers of a cache to the values that were read, and watches all storages until ``stopWatching()``.
    func startWatching(on queue: DispatchQueue, from start: WatchStart, for cache: EntryCache) {
        cache.deliver(changes(in: cache))
        tokens.exchange(
            (mandatory + defaults).map { layer in
                layer.backend.watch(since: nil, on: queue, from: start) { [weak self, weak cache] event in
                    guard let self, let cache else { return }
                    switch event {
                    case .changed, .differences, .reachable: readAgain(layer, on: queue, for: cache)
                    case .failed(let error): cache.reports.report(error)
                    }
                }
            })
    }

    /// Sets the layers of a cache to the values that were read, and returns the deliveries of the changes.
    func changes(in cache: EntryCache) -> Deliveries {
        cache.changeLayers(mandatory: Self.merged(mandatory), defaults: Self.merged(defaults))
    }

    func stopWatching() {
        tokens.exchange(nil)
    }

    // The last values are kept until the storage can be read, or the store is closed.
    private func readAgain(_ layer: Layer, on queue: DispatchQueue, for cache: EntryCache) {
        guard tokens.withLock({ $0 != nil }) else { return }
        do throws(StorageError) {
            try layer.load()
            layer.attempts.withLock { $0.succeed() }
            cache.deliver(changes(in: cache))
        } catch {
            guard let (delay, isLasting) = layer.attempts.withLock({ $0.scheduleRetry() }) else { return }
            if isLasting { cache.reports.report(error) }
            queue.asyncAfter(deadline: .now() + delay) { [weak self, weak cache] in
                guard let self, let cache else { return }
                layer.attempts.withLock { $0.isScheduled = false }
                readAgain(layer, on: queue, for: cache)
            }
        }
    }
}

extension ObservableStore {
    /// Where the value of a key comes from at present; see ``StoredValue/source``.
    nonisolated func source(of name: EntryName) -> ValueSource {
        let (entry, layers) = cache.update { ($0.entry(name), $0.layers) }
        let location = layers.location(of: entry.source, name)
        func file(isMandatory: Bool) -> String {
            location.flatMap { layerFiles.file(of: $0.name.own, isMandatory: isMandatory) } ?? backend.name
        }
        switch entry.source {
        case .mandatory: return .mandatory(file: file(isMandatory: true))
        case .stored: return .stored
        case .fallback: return .inherited
        case .registered where location?.layer == \.registered: return .registered
        case .registered: return .defaults(file: file(isMandatory: false))
        case .override, nil: return entry.override?.source ?? .keyDefault
        }
    }

    /// Whether the value of a key is prescribed by a mandatory layer of the store; Observation tracks this.
    nonisolated func isMandatory(_ name: EntryName) -> Bool {
        for entry in name.all.map(cache.entry) { entry.access() }
        return cache.update { $0.layers.mandatory(name) != nil }
    }
}

extension EntryCache {
    /// Replaces the layers of files, as one revision, with the origin ``ChangeOrigin/external``.
    func changeLayers(mandatory: [String: PropertyListValue], defaults: [String: PropertyListValue]) -> Deliveries {
        take { state in
            var deliveries = Deliveries()
            let before = state.layers
            let names = Set(state.layers.mandatory.replaceAll(by: mandatory) + state.layers.defaults.replaceAll(by: defaults))
            guard !names.isEmpty else { return (deliveries, before) }
            state.revision += 1
            // A value inherited from another entry may change with the layers as well.
            for entry in state.entries.touched {
                entry.countChange()
                if entry.isTracked { entry.postMutation(to: &deliveries) }
            }
            for entry in names.sorted().compactMap(state.entries.entry) {
                // The changes of one key's names are delivered as one, with the first of them.
                for observers in entry.content.observers where observers.name.all.first(where: names.contains) == entry.name {
                    guard let change = state.layerChange(of: observers.name, in: entry, since: before) else { continue }
                    observers.post(change, muting: 0, to: &deliveries)
                }
            }
            return (deliveries, before)
        }.0
    }
}

extension EntryCacheState {
    /// The change of a key's value that a change of the layers causes; nil if there is none.
    fileprivate mutating func layerChange(of name: EntryName, in entry: Entry, since earlier: ValueLayers) -> EntryChange? {
        let (old, new) = (earlier.entry(name) { entries[$0] }, self.entry(name))
        guard old != new else { return nil }
        return EntryChange(
            key: name.text, old: old, new: new, earlier: earlier.earlier(name, { entries[$0] }, { entries.entry($0)?.content.history }),
            earlierThanNew: self.earlier(name), isRemoval: new.source == nil, origin: .external, revision: revision, entry: entry,
            version: entry.version)
    }
}
