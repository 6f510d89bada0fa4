extension ObservableStore {
    /// The value of a key, tracked: inside `withObservationTracking`, its next change calls `onChange`, whoever makes it.
    nonisolated func observed<Value>(_ key: StorageKey<Value>) -> Value {
        memory.signal(key.name).access()
        for shared in key.shared where !isSet(key) { memory.signal(shared.name).access() }
        return self[key]
    }
}
