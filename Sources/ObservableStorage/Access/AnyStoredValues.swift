public import PropertyListCoding

extension AnyStoredValue {
    /// Creates the value of a key in a store, for a list of values of several types.
    public init<Value>(_ value: StoredValue<Value>) {
        self.init(value.key, in: value.store)
    }
}

// Lists of keys that are known only at run time.
extension ObservableStore {
    /// The current values of several keys, in their order, and each newer combination, all of one revision; see ``values(of:_:_:)``.
    ///
    /// - Parameter values: the keys, as values of this store.
    public nonisolated func values(ofAll values: [AnyStoredValue]) -> AsyncStream<[PropertyListValue?]> {
        @Sendable func shown(_ key: some AnyStorageKey, in snapshot: StoreSnapshot) -> PropertyListValue? {
            key.storageKey.shown(key.storageKey.storedForm(of: snapshot[key.storageKey]))
        }
        let keys = values.map(\.key)
        return elements(of: keys, as: { $0 }) { snapshot in keys.map { shown($0, in: snapshot) } }
    }

    /// Every change of several keys from now on; see ``changes(of:bufferingPolicy:)``.
    ///
    /// The changes of each key are in order. Those of different keys are, too, unless several threads make them at the same time; the changes
    /// of one transaction have the same revision.
    public nonisolated func changes(of values: [AnyStoredValue]) -> AsyncStream<Change<PropertyListValue?>> {
        AsyncStream.observing { continuation in
            func token(of key: some AnyStorageKey) -> ObservationToken {
                self.observe(key.storageKey, .stream(continuation, key.storageKey.shown))
            }
            let tokens = values.isEmpty ? [cache.observeEnd { continuation.finish() }] : values.map { token(of: $0.key) }
            return ObservationToken { for token in tokens { token.cancel() } }
        }
    }
}

extension StorageKey {
    fileprivate func shown(_ change: Change<Value>) -> Change<PropertyListValue?> {
        Change(
            key: change.key, oldValue: shown(storedForm(of: change.oldValue)), newValue: shown(storedForm(of: change.newValue)),
            kind: change.kind, origin: change.origin, revision: change.revision, storageRevision: change.storageRevision,
            isSecret: change.isSecret)
    }
}
