extension ObservableStore {
    /// The value of a key, tracked: inside `withObservationTracking`, its next change calls `onChange`, whoever makes it.
    nonisolated func observed<Value>(_ key: StorageKey<Value>) -> Value {
        memory.signal(key.name).access()
        return self[key]
    }
}
