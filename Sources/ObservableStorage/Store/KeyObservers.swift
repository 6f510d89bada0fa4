/// Those who observe an entry with one key. What changes is given the key's type once for all of them.
final class KeyObservers<Value: Sendable>: Sendable {
    private let key: StorageKey<Value>
    private let publisher: ChangePublisher<Change<Value>>

    init(_ key: StorageKey<Value>, group: UInt64) {
        self.key = key
        publisher = ChangePublisher(
            group: group, runsUserCode: !key.isReadWithoutUserCode,
            boxing: { change in
                if case .undecodable = change.kind { return nil }
                return Box(change.newValue)
            })
    }

    /// Observers of an entry that will not change any more: each of them is told so at once.
    static func finished(_ key: StorageKey<Value>, group: UInt64) -> KeyObservers {
        let observers = KeyObservers(key, group: group)
        var none = Deliveries()
        observers.postFinish(to: &none)
        return observers
    }

    /// Subscribes, and queues what is there now as a first change if there is to be one.
    func add(
        initial: StoredChange?, _ observer: Observer<Change<Value>>, to deliveries: inout Deliveries,
        onCancel: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        guard let initial else { return publisher.add(observer, to: &deliveries, onCancel: onCancel) }
        return publisher.add(initial: [{ [key] in initial.typed(for: key) }], observer, to: &deliveries, onCancel: onCancel)
    }
}

/// Observers of an entry whose type does not matter.
protocol AnyKeyObservers: Sendable {
    /// Tells the key from others of the same name.
    var identifier: ObjectIdentifier { get }
    var isIdle: Bool { get }
    func post(_ change: StoredChange, muting muted: UInt64, to deliveries: inout Deliveries)
    func postFinish(to deliveries: inout Deliveries)
}

extension KeyObservers: AnyKeyObservers {
    var identifier: ObjectIdentifier { ObjectIdentifier(key.body) }
    var isIdle: Bool { publisher.isIdle }

    func post(_ change: StoredChange, muting muted: UInt64, to deliveries: inout Deliveries) {
        publisher.post(muting: muted, to: &deliveries) { [key] in change.typed(for: key) }
    }

    func postFinish(to deliveries: inout Deliveries) {
        publisher.postFinish(to: &deliveries)
    }
}
