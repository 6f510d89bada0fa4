import PropertyListCoding
import Synchronization

/// The part of a key that is the same for all types: its names, and what was last read with it.
@usableFromInline class KeyReference: @unchecked Sendable {
    // Sendable because nothing here changes but for what is atomic or locked; only a class that is not final may have subclasses.

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
    /// What was last read with the key.
    let cache = ReadingCache()
    /// The same, where the value is plain.
    let plain = PlainCell()
    /// Where the key's entry stands in the table of the store in which it was last written.
    let entryIndex = Atomic(0)

    fileprivate init(_ entryName: EntryName, needsMigration: Bool, editsSeveral: Bool, typeWhenSet: ObjectIdentifier?) {
        self.entryName = entryName
        self.needsMigration = needsMigration
        self.editsSeveral = editsSeveral
        self.typeWhenSet = typeWhenSet
    }

    deinit {
        cache.release()
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
        let lazyDefault: Once<Value>
        let isNil: @Sendable (Value) -> Bool
    }

    let traits: Traits
    private let isPlain = PlainCell.canHold(Value.self)
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
                earlierFallback: fallback?.definition.traits.earlierNames ?? []),
            needsMigration: !traits.migrations.isEmpty || !traits.earlierNames.isEmpty || !traits.persistsDefault.isEmpty
                || fallback?.definition.needsMigration == true,
            editsSeveral: traits.writesThrough || !traits.earlierNames.isEmpty,
            typeWhenSet: traits.runsNoUserCode ? type : nil)
    }

    /// Keeps what was read.
    ///
    /// - Parameter isPlainEntry: whether nothing but the entry decides what is read.
    func keep(_ reading: ValueReading<Value>, isPlainEntry: Bool = false) {
        if isPlain, isPlainEntry { plain.remember(PlainCell.bits(of: reading.value), of: reading.entry, at: reading.version) }
        // What a codec has decoded has to be known to the entry, plain or not, or others would decode it again.
        if isPlain, traits.codec.isNative { return cache.keep(reading) }
        reading.entry.add(cache)
        cache.keep(reading)
        // The entry may have been removed between the two.
        if !reading.isCurrent { cache.release(of: reading.entry) }
    }
}
