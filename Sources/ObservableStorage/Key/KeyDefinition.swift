import PropertyListCoding
import Synchronization

/// The part of a key that is independent of its type: its names, and its cached read.
@usableFromInline class KeyReference: @unchecked Sendable {
    // Sendable because all mutable state is atomic or locked; unchecked because the class is not final.

    /// Identifies this key among all keys of the process.
    let id = uniqueNumber()
    /// The name of the entry, and the fallback while it has no value.
    let entryName: EntryName
    let scope: KeyScope?
    /// The type of the stored value; nil if user code determines whether the value can be decoded.
    let typeWhenSet: ObjectIdentifier?
    let readings = ReadingCache()
    /// The last value read, if it is plain.
    let plain = SeqLock()
    /// The position of the key's entry in the table of the store in which it was last written.
    let entryIndex = Atomic(0)

    fileprivate init(_ entryName: EntryName, scope: KeyScope?, typeWhenSet: ObjectIdentifier?) {
        (self.entryName, self.scope, self.typeWhenSet) = (entryName, scope, typeWhenSet)
    }

    deinit {
        readings.release()
    }
}

/// A rule for values of a store that depend on each other.
protocol ValueRule: AnyObject, Sendable {
    /// The cache of the store in which it applies; see ``EntryCache/id``.
    var cache: UInt64 { get }
    /// The names of the keys on which it may depend.
    var keyNames: Set<String> { get }
    /// The names of the entries from which these may read their values.
    var entryNames: Set<String> { get }
    /// Throws an error if values that are to be stored are not valid; returns a closure that records them as the last valid ones afterwards.
    func check(_ values: EntryValues, _ layers: ValueLayers) throws(StorageError) -> @Sendable () -> Void
}

/// The contents of a key, shared by its copies.
final class KeyDefinition<Value: Sendable>: KeyReference, @unchecked Sendable {
    struct Traits: Sendable {
        /// The entry, its earlier names, and the fallback's.
        var entryName: EntryName
        var persistsDefault: DefaultPersistence
        var summary: String?
        /// Whether the value is omitted from texts; see ``StorageKey/secret()``.
        var isSecret = false
        /// Whether the name is that of a property, or in a stored property of its type.
        var isNamedByFunction = false
        let codec: StorageCodec<Value>
        /// Identifies values decoded by the codec; equal for keys derived from this one.
        var codecNumber = uniqueNumber()
        /// Throws an error for an invalid value, stored or set; nil if all values are valid.
        var validate: (@Sendable (Value) throws -> Void)?
        /// The ranges that valid values are in, for people.
        var ranges: [String] = []
        /// The rules of the groups that have the key.
        var rules: [any ValueRule] = []
        /// Convert a value of an earlier type, the newest type first; nil for a value of another type.
        var migrations: [@Sendable (PropertyListValue) throws -> Value?] = []
        /// The scope in which the key has its own value; nil for a key of the application.
        var scope: KeyScope?
        /// The key whose value this one has while it has none of its own; at most one.
        var fallback: [StorageKey<Value>] = []
        var makeDefault: @Sendable () -> Value
        /// Whether the default is evaluated by each read, so that only stored values are cached; otherwise it is created once.
        var hasDynamicDefault = false
        let isNil: @Sendable (Value) -> Bool

        /// The stored form of nil, which hides the fallback's value; nil for a key that removes its entry instead.
        var storedNil: PropertyListValue? { scope == nil ? nil : KeyScope.storedNil }

        /// Whether a value that is set also becomes the fallback's value.
        var writesThrough: Bool { scope?.writesThrough ?? false }
    }

    let traits: Traits
    private let isPlain = SeqLock.canHold(Value.self)
    /// Whether reading may have to store a default; false for most keys.
    let storesDefault: Bool
    /// Whether writing may have to change more than the entry itself, or is checked by the rule of a group; false for most keys.
    let editsSeveral: Bool
    /// The stored type that is read; nil if every type can be read.
    let type: ObjectIdentifier?
    /// Whether every format can represent the name: XML has neither control characters nor U+FFFE and U+FFFF.
    let hasPlainName: Bool
    /// Whether decoding to the key's type runs no user code.
    let isReadWithoutUserCode: Bool

    init(_ traits: Traits) {
        self.traits = traits
        let isAny = Value.self == PropertyListValue?.self || Value.self == PropertyListValue.self
        type = isAny ? nil : ObjectIdentifier(Value.self)
        let name = traits.entryName
        let storesDefault = traits.persistsDefault != .never || traits.fallback.first?.definition.storesDefault == true
        self.storesDefault = storesDefault
        editsSeveral = traits.writesThrough || !name.earlier.isEmpty || !name.path.isEmpty || !traits.rules.isEmpty
        hasPlainName = name.text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0xEF }
        let runsNoUserCode = traits.runsNoUserCode
        isReadWithoutUserCode = runsNoUserCode && traits.migrations.isEmpty && !storesDefault
        super.init(name, scope: traits.scope, typeWhenSet: runsNoUserCode ? type : nil)
        if traits.isSecret {
            // A value is secret in every scene if the application's is.
            let names = name.fallback.map { [$0] + name.earlierFallback } ?? name.all
            SecretNames.insert(names + names.map(KeyPrefix([KeyScope.folder]).name))
        }
    }

    /// Whether writing changes one value inside a dictionary, and nothing else while nothing is stored under earlier names.
    var editsValueInside: Bool {
        !entryName.path.isEmpty && entryName.kept.isEmpty && !traits.writesThrough
    }

    /// Caches a read value.
    ///
    /// - Parameter isPlainEntry: whether the value depends on the entry only.
    func keep(_ reading: ValueReading<Value>, isPlainEntry: Bool = false) {
        if isPlain, isPlainEntry { plain.remember(SeqLock.bits(of: reading.value), of: reading.entry, at: reading.version) }
        // The entry must know every value decoded by a codec, plain or not, or it would be decoded again.
        if isPlain, traits.codec.isNative { return readings.keep(reading) }
        reading.entry.add(readings)
        readings.keep(reading)
        // The entry may have been removed between the two.
        if !reading.isCurrent { readings.release(of: reading.entry) }
    }
}
