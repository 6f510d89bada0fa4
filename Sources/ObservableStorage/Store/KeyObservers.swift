/// Those who observe an entry with one key. What changes is given the key's type once for all of them.
final class KeyObservers<Value: Sendable>: Sendable {
    private let key: StorageKey<Value>
    private let publisher: ChangePublisher<Change<Value>>

    init(_ key: StorageKey<Value>, outbox: Outbox) {
        self.key = key
        publisher = ChangePublisher(
            outbox: outbox,
            boxing: { change in
                if case .undecodable = change.kind { return nil }
                return Box(change.newValue)
            })
    }

    /// Observers of an entry that will not change any more: each of them is told so at once.
    static func finished(_ key: StorageKey<Value>, outbox: Outbox) -> KeyObservers {
        let observers = KeyObservers(key, outbox: outbox)
        observers.postFinish()
        return observers
    }

    /// Subscribes, and queues what is there now as a first change if there is to be one.
    func add(initial: StoredChange?, _ observer: Observer<Change<Value>>, onCancel: @escaping @Sendable () -> Void) -> ObservationToken {
        guard let initial else { return publisher.add(observer, onCancel: onCancel) }
        return publisher.add(initial: [{ [key] in initial.typed(for: key) }], observer, onCancel: onCancel)
    }
}

/// Observers of an entry whose type does not matter.
protocol AnyKeyObservers: Sendable {
    /// Tells the key from others of the same name.
    var identifier: ObjectIdentifier { get }
    var isIdle: Bool { get }
    func post(_ change: StoredChange, muting muted: UInt64)
    func postFinish()
}

extension KeyObservers: AnyKeyObservers {
    var identifier: ObjectIdentifier { ObjectIdentifier(key.body) }
    var isIdle: Bool { publisher.isIdle }

    func post(_ change: StoredChange, muting muted: UInt64) {
        publisher.post(muting: muted) { [key] in change.typed(for: key) }
    }

    func postFinish() {
        publisher.postFinish()
    }
}
