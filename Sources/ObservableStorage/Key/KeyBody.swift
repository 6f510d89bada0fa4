import PropertyListCoding

/// The part of a key that is the same for all types: what it is stored under, and what was last read with it.
class AnyKeyBody: @unchecked Sendable {
    // Sendable because nothing here changes but for what is behind the lock; only a class that is not final may have subclasses.

    /// What the value is stored under, and what it is taken from while nothing is stored there.
    let entryName: EntryName
    /// Whether reading may have to change what is stored; not so for most keys.
    let needsUpkeep: Bool
    /// Whether writing may have to change more than the entry itself; not so for most keys.
    let editsSeveral: Bool
    /// What was last read with the key: a reading of its type.
    let cache = ReadingCache()
    /// The same, where the value is plain.
    let plain = PlainCell()
    /// Where in a store the entry was last written; at first nowhere.
    let place = EntryPlace()

    /// What an entry is set as, where no code of the user's decides whether it can be read again.
    let typeWhenSet: ObjectIdentifier?

    init(_ entryName: EntryName, needsUpkeep: Bool, editsSeveral: Bool, typeWhenSet: ObjectIdentifier?) {
        self.entryName = entryName
        self.typeWhenSet = typeWhenSet
        self.needsUpkeep = needsUpkeep
        self.editsSeveral = editsSeveral
    }

    deinit {
        cache.empty()
    }

    /// What was last read with the key, if it is current in this store. Made without the key's type, which would cost more than the rest.
    final func currentReading(in store: UInt64) -> Reading? {
        guard let reading = cache.reading, reading.store == store, reading.isCurrent else { return nil }
        return reading
    }
}

/// A key behind one reference, with what was last read with it: copies of a key share both.
final class KeyBody<Value: Sendable>: AnyKeyBody, @unchecked Sendable {
    let traits: KeyTraits<Value>
    private let isPlain = PlainCell.canHold(Value.self)
    /// What an entry is read as; nil for what every entry can be read as.
    let type: ObjectIdentifier?

    init(_ traits: KeyTraits<Value>) {
        self.traits = traits
        let isAny = Value.self == PropertyListValue?.self || Value.self == PropertyListValue.self
        type = isAny ? nil : ObjectIdentifier(Value.self)
        super.init(
            EntryName(
                own: traits.name, earlier: traits.earlierNames, inherited: traits.shared.first?.name,
                earlierInherited: traits.shared.first?.body.traits.earlierNames ?? []),
            needsUpkeep: !traits.migrations.isEmpty || !traits.earlierNames.isEmpty || !traits.persistsDefault.isEmpty
                || traits.shared.contains { $0.body.needsUpkeep },
            editsSeveral: traits.leavesLastValue || !traits.earlierNames.isEmpty,
            typeWhenSet: traits.runsNoUserCode ? type : nil)
    }

    /// Remembers what was read.
    ///
    /// - Parameter watch: the entry that the value was stored in, with which it goes; nil for a default.
    func remember(_ reading: ValueReading<Value>, of watch: EntryWatch?) {
        if isPlain, reading.inherited == nil {
            plain.remember(PlainCell.bits(of: reading.value), watch: reading.own.id, changes: reading.ownChanges)
        }
        if !isPlain { watch?.add(cache) }
        cache.keep(reading)
        // The entry may have been removed between the two.
        if !isPlain, !reading.isCurrent { cache.empty() }
    }
}
