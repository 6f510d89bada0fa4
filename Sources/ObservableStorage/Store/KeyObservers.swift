import PropertyListCoding

/// Those who observe an entry with one key. What changes is given the key's type once for all of them.
final class KeyObservers<Value: Sendable>: Sendable {
    /// Takes a change of which the new value has been decoded, what is wrong with that value, and the earlier one that counts in its place.
    typealias OnDecode = @Sendable (_ change: StoredChange, _ failure: StorageError?, _ good: PropertyListValue?) -> Void

    private let key: StorageKey<Value>
    private let watches: TrackedKey?
    private let onDecode: OnDecode
    private let publisher: ChangePublisher<Change<Value>>
    // The new value of the last change, which is the old one of the next, where decoding it takes a codec.
    private let last = Guarded<(stored: PropertyListValue, value: AnyBox)?>(nil)

    /// - Parameter watches: those of the key's entries, if they keep what is decoded.
    init(_ key: StorageKey<Value>, _ watches: TrackedKey?, group: UInt64, onDecode: @escaping OnDecode) {
        self.key = key
        self.watches = watches
        self.onDecode = onDecode
        publisher = ChangePublisher(
            group: group, runsUserCode: !key.isReadWithoutUserCode,
            boxing: { change in
                if case .undecodable = change.kind { return nil }
                return Box(change.newValue)
            })
    }

    /// Ends the observation at once, for an entry that will not change any more.
    func finish() {
        var none = Deliveries()
        postFinish(to: &none)
    }

    /// Subscribes, and queues what is there now as a first change if there is to be one.
    func add(
        initial: StoredChange?, _ observer: Observer<Change<Value>>, to deliveries: inout Deliveries,
        onCancel: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        guard let initial else { return publisher.add(observer, to: &deliveries, onCancel: onCancel) }
        let hasSlot = observer.slot != nil
        let makeInitial: @Sendable () -> Change<Value> = { [self] in
            let change = typed(initial, isChange: false)
            // Later a bad value leaves in the slot what is there, but the first one is the value that reading gives.
            guard hasSlot, case .undecodable = change.kind else { return change }
            return Change(
                key: change.key, oldValue: change.oldValue, newValue: change.newValue, kind: .set, origin: change.origin,
                revision: change.revision)
        }
        return publisher.add(initial: [makeInitial], observer, to: &deliveries, onCancel: onCancel)
    }

    private func watch(of entry: StoredEntry) -> EntryWatch? {
        if entry.stored != nil { return watches?.own }
        return entry.inherited == nil ? nil : watches?.inherited
    }

    private func typed(_ change: StoredChange, isChange: Bool = true) -> Change<Value> {
        let isCoded = watches != nil
        let (typed, failure, good) = change.typed(
            for: key,
            decodingOld: { stored throws(StorageError) in
                if isCoded, let last = last.withLock({ $0 }), last.stored == stored { return key.value(last) }
                return try key.decoded(stored, in: watch(of: change.old), at: 0)
            },
            decodingNew: { stored throws(StorageError) in
                try key.decoded(stored, in: watch(of: change.new), at: change.changes)
            })
        if isCoded, isChange {
            let stored = failure == nil ? change.new.stored ?? change.new.inherited : nil
            last.take { last in
                defer { last = stored.map { ($0, Box(typed.newValue)) } }
                return last
            }
        }
        // Of what this process sets without code of the user's, it is known that it is good.
        if failure != nil || change.origin != .local || key.body.typeWhenSet == nil { onDecode(change, failure, good) }
        return typed
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
        publisher.post(muting: muted, to: &deliveries) { [self] in typed(change) }
    }

    func postFinish(to deliveries: inout Deliveries) {
        publisher.postFinish(to: &deliveries)
    }
}
