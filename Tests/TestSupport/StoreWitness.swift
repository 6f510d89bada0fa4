public import ObservableStorage
import PropertyListCoding

/// Observes a store in every way, from before the first write until it is closed, for a ``History``.
public final class StoreWitness: Sendable {
    private struct Listener: Sendable {
        let name: String
        let key: String
        let hasInitial: Bool
        let changes = Recorder<History.Step>()
    }

    private let store: ObservableStore
    private let start: History
    private let all: Task<[History.Step], Never>
    private let views: [Task<History.View, Never>]
    private let readings: [Task<History.Reading, Never>]
    private let listeners: [Listener]
    private let tokens: [ObservationToken]

    /// Subscribes.
    public init(_ store: ObservableStore) {
        self.store = store
        var start = History()
        start.start = store.entries
        start.group = RandomWriter.group
        self.start = start
        all = Task { [changes = store.allChanges()] in await changes.reduce(into: []) { $0.append($1) } }
        let keys = RandomWriter.keys + RandomWriter.group
        views = keys.map { key in
            Task { [changes = store.changes(of: StorageKey<PropertyListValue?>(key))] in
                let seen = await changes.reduce(into: []) { $0.append($1) }
                return History.View(
                    name: "changes of \(key)", key: key, changes: seen, hasInitial: false, isFromStart: true, isToEnd: true)
            }
        }
        readings = keys.map { key in
            Task { [values = store.values(of: StorageKey<PropertyListValue?>(key))] in
                let seen = await values.reduce(into: []) { $0.append($1) }
                return History.Reading(name: "values of \(key)", key: key, values: seen, isToEnd: true)
            }
        }
        listeners = keys.flatMap { key in
            [false, true].map { Listener(name: "listener to \(key)", key: key, hasInitial: $0) }
        }
        tokens = listeners.map { listener in
            store.addUpdateListener(for: StorageKey<PropertyListValue?>(listener.key), initial: listener.hasInitial) {
                listener.changes.record($0)
            }
        }
    }

    /// All observations. Waits until the store is closed.
    ///
    /// - Parameters:
    ///   - writers: the store's own.
    ///   - others: the names of the writers of other stores.
    public func history(writers: [RandomWriter], others: Set<String> = []) async -> History {
        var history = start
        history.changes = await all.value
        for view in views { history.views.append(await view.value) }
        for reading in readings { history.readings.append(await reading.value) }
        for listener in listeners {
            // Streams may end before listeners have been called for everything. Only a test's time limit cancels this.
            let count = history.changes.filter { $0.key == listener.key }.count + (listener.hasInitial ? 1 : 0)
            _ = try? await listener.changes.elements(count: count)
            history.views.append(
                History.View(
                    name: listener.name, key: listener.key, changes: listener.changes.elements, hasInitial: listener.hasInitial,
                    isFromStart: true, isToEnd: true))
        }
        for token in tokens { token.cancel() }
        history.end = store.entries
        history.writes = Dictionary(uniqueKeysWithValues: writers.map { ($0.name, $0.writes) })
        history.others = others
        return history
    }
}
