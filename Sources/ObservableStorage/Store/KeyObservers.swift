import PropertyListCoding

/// The observers of an entry through one key. A change is converted to the key's type once for all of them.
final class KeyObservers<Value: Sendable>: BoxPublisher, EntryObservers, @unchecked Sendable {
    // Sendable because all mutable state is locked.

    private let storageKey: StorageKey<Value>
    // Records whether the values of changes could be decoded; refers to the observers.
    private let cache: WeakReference<EntryCache>
    // The new value of the last change, which is the old value of the next, for a codec that is not native.
    private let last = Lock<(stored: PropertyListValue, box: AnyBox)?>(nil)

    var key: UInt64 { storageKey.definition.id }
    var name: EntryName { storageKey.definition.entryName }
    let readsOneEntry: Bool

    init(_ key: StorageKey<Value>, of cache: EntryCache) {
        storageKey = key
        readsOneEntry = key.definition.entryName.path.isEmpty && !key.definition.entryName.hasOthers
        self.cache = WeakReference(cache)
        super.init(group: cache.id, runsUserCode: !key.definition.isReadWithoutUserCode)
    }

    override func element(of posted: AnyBox) -> AnyBox? {
        let (change, isTold) = typed(unsafeDowncast(posted, to: EntryChange.self))
        return isTold ? Box(change) : nil
    }

    override func onlyBox(of posted: AnyBox) -> AnyBox? {
        plainBox(unsafeDowncast(posted, to: EntryChange.self)) ?? super.onlyBox(of: posted)
    }

    /// The new value of a change; nil if it is not decodable, and the previous one stays in effect.
    override func slotBox(of element: AnyBox) -> AnyBox? {
        let change = unsafeDowncast(element, to: Box<Change<Value>>.self).value
        return change.keepsValue ? nil : Box(change.newValue)
    }

    override func releaseElements() { last.exchange(nil) }

    /// Subscribes, and queues the current value as a first change if `initial` is given.
    func add(initial: EntryChange?, _ observer: Observer<Change<Value>>, to deliveries: inout Deliveries) -> ObservationToken {
        let subscription = observer.subscription
        var elements: [@Sendable () -> AnyBox] = []
        if let initial {
            if subscription.slot == nil {
                elements = [{ [self] in Box(typed(initial, isChange: false).change) }]
            } else if let box = plainBox(initial) {
                // Nobody waits for a value of a new slot.
                _ = subscription.slot?.put(box)
            } else {
                // Later an invalid value leaves the slot unchanged, but the first value is the one that reading returns.
                elements = [{ [self] in Box(typed(initial, isChange: false).change.newValue) }]
            }
        }
        return add(initial: elements, subscription, to: &deliveries, onCancel: { [self] in cache.object?.forgetIfIdle(self) })
    }

    func post(_ change: EntryChange, muting muted: UInt64, to deliveries: inout Deliveries) {
        post(change as AnyBox, muting: muted, to: &deliveries)
    }

    // Generic code for a change looks up many types: without this, subscribing takes 3.1 us instead of 1.7, and telling a listener 2.0 us instead
    // of 1.3.
    /// Whether a change needs neither user code nor the rules for invalid values, unless its values cannot be decoded.
    private func isPlain(_ change: EntryChange) -> Bool {
        let definition = storageKey.definition
        return definition.isReadWithoutUserCode && definition.typeWhenSet != nil && definition.scope == nil && change.origin == .local
            && change.new.override == nil && change.new.mandatory == nil
    }

    /// The box for the slots of readers, made without the change; nil if that runs user code, or has to be recorded.
    private func plainBox(_ change: EntryChange) -> AnyBox? {
        guard isPlain(change) else { return nil }
        let new = change.new
        do throws(StorageError) {
            if let stored = new.stored { return Box(try storageKey.decoded(stored)) }
            return new.fallback == nil && new.registered == nil ? Box(storageKey.defaultValue) : nil
        } catch {
            return nil
        }
    }

    /// The change from one stored value to another; nil if it is any other.
    private func plainChange(_ change: EntryChange) -> Change<Value>? {
        guard isPlain(change), !change.isRemoval, let old = change.old.stored, let new = change.new.stored else { return nil }
        do throws(StorageError) {
            return Change(
                key: change.key, oldValue: try storageKey.decoded(old), newValue: try storageKey.decoded(new), kind: .set, origin: .local,
                revision: change.revision, storageRevision: change.storageRevision, isSecret: storageKey.isSecret)
        } catch {
            return nil
        }
    }

    /// The change with the key's type, and whether it is one: a value that is invalid or hidden may have changed, with no effect.
    private func typed(_ change: EntryChange, isChange: Bool = true) -> (change: Change<Value>, isTold: Bool) {
        if isChange, let plain = plainChange(change) { return (plain, true) }
        let key = storageKey
        let runsUserCode = !key.definition.isReadWithoutUserCode
        func decode(_ stored: PropertyListValue, of value: StoredEntry, at version: UInt64) throws(StorageError) -> Value {
            if runsUserCode, let last = last.withLock({ $0 }), last.stored == stored {
                return unsafeDowncast(last.box, to: Box<Value>.self).value
            }
            return try key.decoded(stored, in: change.entry(of: value, name).map { ($0, version) })
        }
        let (typed, failure, good) = change.typed(
            for: key,
            decodingOld: { stored throws(StorageError) in
                try decode(stored, of: change.old, at: isChange ? change.version - 1 : change.version)
            },
            decodingNew: { stored throws(StorageError) in try decode(stored, of: change.new, at: change.version) })
        if runsUserCode, isChange {
            let stored = failure == nil ? change.new.present : nil
            last.exchange(stored.map { ($0, Box(typed.newValue)) })
            if isFinished { releaseElements() }
        }
        // A value that this process sets without user code is known to be valid.
        if failure != nil || change.origin != .local || key.definition.typeWhenSet == nil {
            cache.object?.recordDecoding(key, change.new, revision: change.revision, failure, insteadOf: good)
        }
        return (typed, failure != nil && !typed.keepsValue || !change.old.hasSameEffect(as: change.new))
    }
}

/// The observers of all entries.
final class AllObservers: BoxPublisher, @unchecked Sendable {
    // Sendable because it adds no state.

    override func element(of posted: AnyBox) -> AnyBox? {
        Box(unsafeDowncast(posted, to: EntryChange.self).untyped)
    }
}

extension EntryChange {
    /// The change of an entry whose key is not known.
    var untyped: Change<PropertyListValue?> {
        let key = StorageKey<PropertyListValue?>(key)
        let decode = { (stored: PropertyListValue) throws(StorageError) in try key.decoded(stored) }
        return typed(for: SecretNames.contains(key.name) ? key.secret() : key, decodingOld: decode, decodingNew: decode).change
    }

    /// The change with the key's type; the reason if its new value cannot be decoded, and the stored value that is used instead, if any.
    func typed<Value>(
        for key: StorageKey<Value>, decodingOld decodeOld: (PropertyListValue) throws(StorageError) -> Value,
        decodingNew decodeNew: (PropertyListValue) throws(StorageError) -> Value
    ) -> (change: Change<Value>, failure: StorageError?, good: StoredEntry.ValidValue?) {
        let before = key.value(of: old, decodeOld, orLastOf: { earlier })
        let after = key.value(of: new, decodeNew, orLastOf: { earlierThanNew ?? earlier.after(old) })
        let keepsValue = after.failure != nil && !isRemoval && after.good?.stored == before.good?.stored
        let kind = isRemoval ? ChangeKind.removed : after.failure.map(ChangeKind.undecodable) ?? .set
        let change = Change(
            key: self.key, oldValue: before.value, newValue: keepsValue ? before.value : after.value, kind: kind, origin: origin,
            revision: revision, storageRevision: storageRevision, keepsValue: keepsValue, isSecret: key.isSecret)
        return (change, after.failure, after.good)
    }
}
