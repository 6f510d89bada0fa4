extension KeyedStore {
    /// Calls a closure on the main actor with each change of a key; see ``ObservableStore/addMainActorListener(for:initial:_:)``.
    public func addMainActorListener<Value>(
        for path: KeyPath<Keys, StorageKey<Value>>, initial: Bool = false, _ listener: @escaping @MainActor (Change<Value>) -> Void
    ) -> ObservationToken {
        store.addMainActorListener(for: key(path), initial: initial, listener)
    }
}

extension StoredValue {
    /// Calls a closure on the main actor with each change; see ``ObservableStore/addMainActorListener(for:initial:_:)``.
    public func addMainActorListener(
        initial: Bool = false, _ listener: @escaping @MainActor (Change<Value>) -> Void
    ) -> ObservationToken {
        store.addMainActorListener(for: key, initial: initial, listener)
    }
}
