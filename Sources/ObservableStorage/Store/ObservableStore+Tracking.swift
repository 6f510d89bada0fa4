extension ObservableStore {
    /// The value of a key, tracked: inside `withObservationTracking`, its next change calls `onChange`, whoever makes it.
    nonisolated func observed<Value>(_ key: StorageKey<Value>) -> Value {
        if let reading = key.body.lastReading(in: memory.id) {
            reading.own.access()
            if let inherited = reading.inherited, !isSet(key) { inherited.access() }
            if reading.isCurrent { return reading.value }
        } else {
            memory.watch(key.name).access()
            if let shared = key.shared, !isSet(key) { memory.watch(shared.name).access() }
        }
        return self[key]
    }
}
