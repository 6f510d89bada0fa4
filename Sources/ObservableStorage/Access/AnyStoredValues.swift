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
        let keys = values.map(\.key)
        return elements(of: keys, as: { $0 }) { snapshot in keys.map { $0.shownValue(in: snapshot) } }
    }

    /// Every change of several keys from now on; see ``changes(of:bufferingPolicy:)``.
    ///
    /// The changes of each key are in order. Those of different keys are, too, unless several threads make them at the same time; the changes
    /// of one transaction have the same revision.
    public nonisolated func changes(of values: [AnyStoredValue]) -> AsyncStream<Change<PropertyListValue?>> {
        AsyncStream.observing { continuation in
            let tokens = values.map { $0.key.observe(in: self, continuation) }
            return ObservationToken { for token in tokens { token.cancel() } }
        }
    }
}

extension AnyStorageKey {
    fileprivate func shownValue(in snapshot: StoreSnapshot) -> PropertyListValue? {
        storageKey.shownForm(of: snapshot[storageKey])
    }

    fileprivate func observe(
        in store: ObservableStore, _ continuation: AsyncStream<Change<PropertyListValue?>>.Continuation
    ) -> ObservationToken {
        store.observe(storageKey, .stream(continuation, storageKey.shown))
    }
}

extension StorageKey {
    /// The stored form of a value; nil also for a default that cannot be stored.
    fileprivate func shownForm(of value: Value) -> PropertyListValue? {
        do throws(StorageError) {
            return try shown(stored(value))
        } catch {
            return nil
        }
    }

    fileprivate func shown(_ change: Change<Value>) -> Change<PropertyListValue?> {
        Change(
            key: change.key, oldValue: shownForm(of: change.oldValue), newValue: shownForm(of: change.newValue), kind: change.kind,
            origin: change.origin, revision: change.revision, storageRevision: change.storageRevision, isSecret: change.isSecret)
    }
}
