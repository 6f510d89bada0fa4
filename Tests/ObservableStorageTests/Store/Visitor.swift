import ObservableStorage
import PropertyListCoding
import TestSupport

/// Subscribes, receives a few changes and unsubscribes in various ways, repeatedly, as determined by a seed.
struct Visitor: Sendable {
    private let store: ObservableStore
    private var generator: SeededGenerator

    init(_ store: ObservableStore, seed: UInt64) {
        self.store = store
        generator = SeededGenerator(seed: seed)
    }

    /// Subscribes and unsubscribes the given number of times; returns immediately if the store is closed.
    func visit(times: Int) async -> History {
        var visitor = self
        var history = History()
        for _ in 0..<times { await visitor.visit(&history) }
        return history
    }

    private mutating func visit(_ history: inout History) async {
        let keys = RandomWriter.keys + RandomWriter.group
        let key = keys[Int.random(in: 0..<keys.count, using: &generator)]
        let count = Int.random(in: 1...8, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: history.views.append(await left(key, after: count))
        case 1: history.views.append(await cancelled(key, after: count))
        case 2: history.readings.append(await read(key, upTo: count))
        case 3: history.views.append(await listened(key, upTo: count))
        case 4: history.views.append(await cancelledFromInside(key, after: count))
        default: _ = (store.changes(of: StorageKey(key, default: "")), store.allChanges(), store.failures)
        }
    }

    /// Stops reading a stream of changes.
    private func left(_ key: String, after count: Int) async -> History.View {
        var seen: [History.Step] = []
        for await change in store.changes(of: StorageKey<PropertyListValue?>(key)) {
            seen.append(change)
            if seen.count == count { break }
        }
        return view("left", key, seen, isToEnd: seen.count < count)
    }

    /// Cancels the task that reads a stream of changes, while more of them may be delivered.
    private func cancelled(_ key: String, after count: Int) async -> History.View {
        let changes = store.changes(of: StorageKey<PropertyListValue?>(key))
        let (enough, isEnough) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            var seen: [History.Step] = []
            for await change in changes {
                seen.append(change)
                if seen.count == count { isEnough.finish() }
            }
            isEnough.finish()
            return seen
        }
        for await _ in enough {}
        reader.cancel()
        return view("cancelled", key, await reader.value)
    }

    private func read(_ key: String, upTo count: Int) async -> History.Reading {
        var seen: [PropertyListValue?] = []
        for await value in store.values(of: StorageKey<PropertyListValue?>(key)) {
            seen.append(value)
            if seen.count == count { break }
        }
        return History.Reading(name: "short reader of \(key)", key: key, values: seen, isToEnd: false)
    }

    /// Listens with the initial value while a stream is read.
    private func listened(_ key: String, upTo count: Int) async -> History.View {
        let seen = Recorder<History.Step>()
        let token = store.addUpdateListener(for: StorageKey<PropertyListValue?>(key), initial: true) { seen.record($0) }
        var rest = count
        for await _ in store.allChanges() {
            rest -= 1
            if rest == 0 { break }
        }
        token.cancel()
        // A change that another thread is delivering at this moment may still arrive.
        return view("listener", key, seen.elements, hasInitial: true)
    }

    /// Cancels a listener during a delivery, after which nothing may be delivered.
    private func cancelledFromInside(_ key: String, after count: Int) async -> History.View {
        let seen = Recorder<History.Step>()
        let token = Lock<ObservationToken?>(nil)
        let (enough, isEnough) = AsyncStream.makeStream(of: Void.self)
        let own = store.addUpdateListener(for: StorageKey<PropertyListValue?>(key)) { change in
            seen.record(change)
            guard seen.elements.count >= count else { return }
            token.withLock { $0.take() }?.cancel()
            isEnough.finish()
        }
        token.withLock { $0 = own }
        // Ends with the store, if the key does not change often enough.
        let end = Task { [failures = store.failures] in
            for await _ in failures {}
            isEnough.finish()
        }
        for await _ in enough {}
        end.cancel()
        own.cancel()
        return view("canceller", key, seen.elements)
    }

    private func view(_ name: String, _ key: String, _ seen: [History.Step], hasInitial: Bool = false, isToEnd: Bool = false)
        -> History.View
    {
        History.View(
            name: "\(name) of \(key)", key: key, changes: seen, hasInitial: hasInitial, isFromStart: false, isToEnd: isToEnd)
    }
}
