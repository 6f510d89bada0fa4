extension ObservableStore {
    /// Calls a closure on the main actor with each change of a key from now on, until the token is cancelled or released.
    ///
    /// A change that is made on the main actor is delivered before its setter returns; unless the setter is called by this listener, then
    /// after it, or another thread is calling listeners of the key at that time, then soon after it. A change by another thread or process
    /// is delivered asynchronously. Changes are delivered in order, each once.
    ///
    /// After `cancel()` has returned on the main actor, nothing is delivered.
    ///
    /// ```swift
    /// token = store.addMainActorListener(for: .volume, initial: true) { [weak self] in self?.slider.value = $0.newValue }
    /// ```
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - initial: whether the current value is delivered first, as a change from itself; before this method returns if it is called on
    ///     the main actor.
    ///   - listener: receives the changes; it may read, write and subscribe.
    public nonisolated func addMainActorListener<Value>(
        for key: StorageKey<Value>, initial: Bool = false, _ listener: @escaping @MainActor (Change<Value>) -> Void
    ) -> ObservationToken {
        observe(key, initial: initial, .mainActorListener(listener))
    }
}
