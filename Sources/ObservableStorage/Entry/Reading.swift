/// What a key's value was when it was read, at which version of the entry that it came from.
@usableFromInline class Reading: @unchecked Sendable {
    // Sendable because nothing in it changes; only a class that is not final may have subclasses, which add a Sendable value.

    /// The entry that the value came from, and its version then.
    let entry: Entry
    let version: UInt64
    /// The number of the codec that decoded the value from what is stored there in its present shape; 0 if none did.
    let codec: UInt64
    // Of the key's own entry and its fallback, the one that the value did not come from.
    private let other: Entry?
    private let otherVersion: UInt64
    /// What is wrong with what is stored, in place of which the value counts.
    let failure: StorageError?

    fileprivate init(_ entry: Entry, at version: UInt64, codec: UInt64, other: Entry?, otherVersion: UInt64, failure: StorageError?) {
        self.entry = entry
        self.version = version
        self.codec = codec
        self.other = other
        self.otherVersion = otherVersion
        self.failure = failure
    }

    /// The value: the caller knows its type, which is that of the key.
    @inlinable final func value<Value: Sendable>(_ type: Value.Type = Value.self) -> Value {
        unsafeDowncast(self, to: ValueReading<Value>.self).value
    }

    /// Whether the entries are still as they were.
    final var isCurrent: Bool {
        entry.version == version && (other == nil || other?.version == otherVersion)
    }
}

/// A reading with its value.
@usableFromInline final class ValueReading<Value: Sendable>: Reading, @unchecked Sendable {
    @usableFromInline let value: Value

    init(
        _ value: Value, of entry: Entry, at version: UInt64, codec: UInt64, other: Entry? = nil, otherVersion: UInt64 = 0,
        failure: StorageError? = nil
    ) {
        self.value = value
        super.init(entry, at: version, codec: codec, other: other, otherVersion: otherVersion, failure: failure)
    }
}

/// What was last read with a key, in each of the few stores that it is used with: the one cache of decoded values.
///
/// The entries that the values came from know it, and empty it when they are removed and when their store goes.
final class ReadingCache: Sendable {
    // A key is hardly ever used with more stores in turn.
    private static let mostOthers = 3

    // The last one, which is nearly always the only one, and those of other stores.
    private let readings = Lock<(last: Reading?, others: [Reading])>((nil, []))

    /// What was last read in a store, if it still holds.
    func reading(in store: UInt64) -> Reading? {
        let known = readings.withLock { readings -> Reading? in
            if let last = readings.last, last.entry.store == store { return last }
            return readings.others.first { $0.entry.store == store }
        }
        guard let known, known.isCurrent else { return nil }
        return known
    }

    /// What a codec decoded of an entry at a version.
    func reading(of entry: Entry, at version: UInt64, by codec: UInt64) -> Reading? {
        readings.withLock { readings -> Reading? in
            if let last = readings.last, last.entry === entry { return last.codec == codec && last.version == version ? last : nil }
            return readings.others.first { $0.entry === entry && $0.codec == codec && $0.version == version }
        }
    }

    /// Keeps a reading in place of what was read in the same store before.
    func keep(_ reading: Reading) {
        readings.take { readings in
            let before = readings
            if let last = readings.last, last.entry.store != reading.entry.store {
                readings.others.removeAll { $0.entry.store == reading.entry.store }
                if readings.others.count == Self.mostOthers { readings.others.removeFirst() }
                readings.others.append(last)
            }
            readings.last = reading
            return before
        }
    }

    /// Whether it holds nothing.
    var isEmpty: Bool {
        readings.withLock { $0.last == nil && $0.others.isEmpty }
    }

    /// Releases what was read of an entry, or everything. Not to be called while a lock is held: a user-defined deinit may run.
    func release(of entry: Entry? = nil) {
        readings.take { readings in
            let before = readings
            if entry == nil || readings.last?.entry === entry { readings.last = nil }
            readings.others.removeAll { entry == nil || $0.entry === entry }
            return before
        }
    }
}
