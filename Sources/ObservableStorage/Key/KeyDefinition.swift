import PropertyListCoding

/// The part of a key that is the same for all types: its names, and the entries that it was last used with.
class KeyReference: @unchecked Sendable {
    // Sendable because nothing here changes but for what is behind the lock; only a class that is not final may have subclasses.
    private struct Entries {
        var last: Entry?
        // Of other stores.
        var others: [Entry] = []
    }

    // A key is hardly ever used with more stores in turn.
    private static let mostOthers = 3

    /// Tells this key from every other one that the process ever had.
    let id = UniqueNumber.next()
    /// What the value is stored under, and what it falls back to while nothing is stored there.
    let entryName: EntryName
    /// Whether reading may have to change what is stored; not so for most keys.
    let needsMigration: Bool
    /// Whether writing may have to change more than the entry itself; not so for most keys.
    let editsSeveral: Bool
    /// The type that an entry is set as, where no user code decides whether it can be read again.
    let typeWhenSet: ObjectIdentifier?

    private let fallback: KeyReference?
    private let entries = Guarded(Entries())

    fileprivate init(
        _ entryName: EntryName, fallback: KeyReference?, needsMigration: Bool, editsSeveral: Bool, typeWhenSet: ObjectIdentifier?
    ) {
        self.entryName = entryName
        self.fallback = fallback
        self.needsMigration = needsMigration
        self.editsSeveral = editsSeveral
        self.typeWhenSet = typeWhenSet
    }

    /// The entry in a store, if the key was used there lately.
    final func entry(in store: UInt64) -> Entry? {
        entries.withLock { entries in
            if let last = entries.last, last.store == store { return last }
            return entries.others.first { $0.store == store }
        }
    }

    /// Remembers the entry of a store.
    final func remember(_ entry: Entry) {
        entries.take { entries in
            let before = entries
            if let last = entries.last, last.store != entry.store {
                entries.others.removeAll { $0.store == entry.store }
                if entries.others.count == Self.mostOthers { entries.others.removeFirst() }
                entries.others.append(last)
            }
            entries.last = entry
            return before
        }
    }

    /// What was last read with the key in a store, if it still holds. Found without the key's type, which would cost more than the rest.
    final func reading(in store: UInt64) -> Reading? {
        guard let entry = entry(in: store) else { return nil }
        return entry.reading(of: id) ?? fallback?.entry(in: store)?.reading(of: id)
    }
}

/// A key behind one reference, which its copies share.
final class KeyDefinition<Value: Sendable>: KeyReference, @unchecked Sendable {
    /// Everything that makes a key.
    struct Traits: Sendable {
        var name: String
        var persistsDefault: DefaultPersistence
        let codec: StorageCodec<Value>
        /// Tells what the codec decoded from what others did; the same for keys that are made of this one.
        let codecNumber = UniqueNumber.next()
        /// Earlier shapes of the value and earlier names of the entry, the newest first.
        var migrations: [@Sendable (PropertyListValue) throws -> Value] = []
        var earlierNames: [String] = []
        /// The key whose value this one has while it has none of its own; one at the most.
        var fallback: [StorageKey<Value>] = []
        /// Whether what is set becomes the fallback's value too.
        var writesThrough = false
        let lazyDefault: LazyValue<Value>
        let isNil: @Sendable (Value) -> Bool
    }

    let traits: Traits
    /// What an entry is read as; nil for what every entry can be read as.
    let type: ObjectIdentifier?

    init(_ traits: Traits) {
        self.traits = traits
        let isAny = Value.self == PropertyListValue?.self || Value.self == PropertyListValue.self
        type = isAny ? nil : ObjectIdentifier(Value.self)
        let fallback = traits.fallback.first
        super.init(
            EntryName(
                own: traits.name, earlier: traits.earlierNames, fallback: fallback?.name,
                earlierFallback: fallback?.definition.traits.earlierNames ?? []), fallback: fallback?.definition,
            needsMigration: !traits.migrations.isEmpty || !traits.earlierNames.isEmpty || !traits.persistsDefault.isEmpty
                || fallback?.definition.needsMigration == true,
            editsSeveral: traits.writesThrough || !traits.earlierNames.isEmpty,
            typeWhenSet: traits.runsNoUserCode ? type : nil)
    }
}
