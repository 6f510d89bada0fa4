import PropertyListCoding

/// Those who observe an entry with one key. What changes is given the key's type once for all of them.
final class KeyObservers<Value: Sendable>: EntryObservers {
    /// Takes a change of which the new value has been decoded, what is wrong with that value, and the earlier one that counts in its place.
    typealias OnDecode = @Sendable (_ change: EntryChange, _ failure: StorageError?, _ good: PropertyListValue?) -> Void

    private let storageKey: StorageKey<Value>
    private let onDecode: OnDecode
    private let publisher: ChangePublisher<Change<Value>>
    // The new value of the last change, which is the old one of the next, where decoding it takes a codec.
    private let last = Lock<(stored: PropertyListValue, value: Value)?>(nil)

    var key: UInt64 { storageKey.definition.id }
    var name: EntryName { storageKey.definition.entryName }
    var isIdle: Bool { publisher.isIdle }

    init(_ key: StorageKey<Value>, group: UInt64, onDecode: @escaping OnDecode) {
        storageKey = key
        self.onDecode = onDecode
        publisher = ChangePublisher(
            group: group, runsUserCode: !key.isReadWithoutUserCode,
            boxing: { change in
                if case .undecodable = change.kind { return nil }
                return Box(change.newValue)
            })
    }

    /// Subscribes, and queues what is there now as a first change if there is to be one.
    func add(
        initial: EntryChange?, _ observer: Observer<Change<Value>>, to deliveries: inout Deliveries,
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

    func post(_ change: EntryChange, muting muted: UInt64, to deliveries: inout Deliveries) {
        publisher.post(muting: muted, to: &deliveries) { [self] in typed(change) }
    }

    func postFinish(to deliveries: inout Deliveries) {
        publisher.postFinish(to: &deliveries)
    }

    /// Ends the observation at once, for an entry that will not change any more.
    func finish() {
        var none = Deliveries()
        postFinish(to: &none)
    }

    private func typed(_ change: EntryChange, isChange: Bool = true) -> Change<Value> {
        let key = storageKey
        let isCoded = !key.definition.traits.codec.isNative
        let (typed, failure, good) = change.typed(
            for: key,
            decodingOld: { stored throws(StorageError) in
                if isCoded, let last = last.withLock({ $0 }), last.stored == stored { return last.value }
                return try key.decoded(stored, in: change.entry(of: change.old, name), at: isChange ? change.version - 1 : change.version)
            },
            decodingNew: { stored throws(StorageError) in
                try key.decoded(stored, in: change.entry(of: change.new, name), at: change.version)
            })
        if isCoded, isChange {
            let stored = failure == nil ? change.new.stored ?? change.new.fallback : nil
            last.take { last in
                defer { last = stored.map { ($0, typed.newValue) } }
                return last
            }
        }
        // A value that this process sets without user code is known to be good.
        if failure != nil || change.origin != .local || key.definition.typeWhenSet == nil { onDecode(change, failure, good) }
        return typed
    }
}

extension EntryChange {
    /// The change as a key sees it.
    func typed<Value>(for key: StorageKey<Value>) -> Change<Value> {
        let decode = { (stored: PropertyListValue) throws(StorageError) in try key.decoded(stored) }
        return typed(for: key, decodingOld: decode, decodingNew: decode).change
    }

    /// The change as a key sees it; what is wrong with the new value, and the earlier one that counts in its place, if that is one.
    fileprivate func typed<Value>(
        for key: StorageKey<Value>, decodingOld decodeOld: (PropertyListValue) throws(StorageError) -> Value,
        decodingNew decodeNew: (PropertyListValue) throws(StorageError) -> Value
    ) -> (change: Change<Value>, failure: StorageError?, good: PropertyListValue?) {
        let earlierValues = { (self.earlier, self.earlierFallback) }
        let before = key.value(of: old, decodeOld, orLastOf: earlierValues)
        let after = key.value(of: new, decodeNew, orLastOf: earlierValues)
        // A bad value in place of a good one leaves readers what they had.
        let value = after.failure == nil || isRemoval ? after.value : before.value
        let kind = isRemoval ? ChangeKind.removed : after.failure.map(ChangeKind.undecodable) ?? .set
        let change = Change(
            key: self.key, oldValue: before.value, newValue: value, kind: kind, origin: origin, revision: revision)
        let good = before.failure == nil ? (new.stored == nil ? old.fallback : old.stored) : before.good
        return (change, after.failure, after.failure == nil ? nil : good)
    }
}
