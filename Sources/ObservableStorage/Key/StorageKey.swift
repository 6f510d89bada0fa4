import PropertyListCoding

/// The name of a stored value, its type, and its value when nothing is stored.
///
/// Keys with the same name in one store are the same entry, whatever their types.
///
/// ```swift
/// extension StorageKey<Double> {
///     static let volume = StorageKey("volume", default: 0.8)
/// }
/// store[.volume] = 0.3
/// ```
public struct StorageKey<Value: Sendable>: Sendable {
    /// The entry's name in the property list. Any text; `.` and `/` have no meaning.
    public private(set) var name: String
    /// When reading writes the default.
    public private(set) var persistsDefault: DefaultPersistence

    let codec: StorageCodec<Value>
    /// Earlier shapes of the value and earlier names of the entry, the newest first.
    private(set) var migrations: [ValueMigration<Value>] = []
    private(set) var earlierNames: [String] = []
    /// The key whose value this one has while it has none of its own; one at the most.
    private(set) var shared: [StorageKey] = []
    /// Whether what is set becomes the shared key's value too.
    private(set) var leavesLastValue = false
    private let lazyDefault: LazyValue<Value>
    private let isNil: @Sendable (Value) -> Bool

    /// The value when nothing is stored and nothing registered; made when it is first needed, once.
    public var defaultValue: Value {
        lazyDefault.value
    }

    init(
        _ name: String, codec: StorageCodec<Value>, persistsDefault: DefaultPersistence = [],
        default makeDefault: @escaping @Sendable () -> Value
    ) {
        self.name = name
        self.codec = codec
        self.persistsDefault = persistsDefault
        lazyDefault = LazyValue(makeDefault)
        isNil = Self.nilCheck()
    }

    // Decided once for the type: a cast for each write would cost more than the write.
    private static func nilCheck() -> @Sendable (Value) -> Bool {
        guard Value.self is any OptionalValue.Type else { return { _ in false } }
        return { ($0 as? any OptionalValue)?.isNil ?? false }
    }

    /// The same key with something about it changed.
    func with(_ change: (inout StorageKey) -> Void) -> StorageKey {
        var key = self
        change(&key)
        return key
    }
}

extension StorageKey {
    /// The same key with its name, and its earlier names, made over.
    func named(_ transform: (String) -> String) -> StorageKey {
        with { key in
            key.name = transform(name)
            key.earlierNames = earlierNames.map(transform)
        }
    }

    /// What to store for a value, or nothing if the entry is to be removed.
    func stored(_ value: Value) throws(StorageError) -> PropertyListValue? {
        if isNil(value) { return nil }
        do {
            let stored = try codec.encode(value)
            try stored.validate()
            return stored
        } catch {
            throw StorageError.unencodable(key: name, because: error)
        }
    }

    /// The value that is stored, in its present shape or an earlier one.
    func decoded(_ stored: PropertyListValue) throws(StorageError) -> Value {
        do {
            return try codec.decode(stored)
        } catch {
            if let value = migrated(stored) { return value }
            throw StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error)
        }
    }

    /// Whether the value is stored in its present shape.
    func isCurrent(_ stored: PropertyListValue) -> Bool {
        do {
            _ = try codec.decode(stored)
            return true
        } catch {
            return false
        }
    }

    /// The value of the newest earlier shape that what is stored has.
    func migrated(_ stored: PropertyListValue) -> Value? {
        for migration in migrations {
            do {
                return try migration.migrate(stored)
            } catch {
                continue
            }
        }
        return nil
    }

    /// Takes the value of another key while there is none of its own; what reading writes is written for that key.
    mutating func inherit(from key: StorageKey, leavingLastValue: Bool) {
        shared = [key]
        leavesLastValue = leavingLastValue
        persistsDefault = []
    }

    /// What the value is stored under.
    var entryName: EntryName {
        EntryName(own: name, inherited: shared.first?.name)
    }

    mutating func append(_ migration: ValueMigration<Value>) {
        migrations.append(migration)
    }

    mutating func append(earlierName: String) {
        earlierNames.append(earlierName)
    }
}
