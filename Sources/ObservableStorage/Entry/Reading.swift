/// An entry, and its version when a key was read; see ``Entry/version``.
typealias EntryVersion = (entry: Entry, version: UInt64)

/// The value of a key when it was read, and the version of the entry from which it was read.
@usableFromInline class Reading: @unchecked Sendable {
    // Sendable because it is immutable, and its subclass adds a Sendable value; unchecked because it is not final.

    /// The entry from which the value was read, and its version then.
    let entry: Entry
    let version: UInt64
    /// The number of the codec that decoded the value, stored in its present type, from the entry; 0 if none did.
    let codec: UInt64
    // The other entries from which the key may read.
    private let others: [EntryVersion]
    /// The reason why the stored value cannot be decoded, if another value is used instead.
    let failure: StorageError?
    /// Whether the value is not the stored one, but hides it.
    let isOverride: Bool

    fileprivate init(_ source: EntryVersion, codec: UInt64, others: [EntryVersion], failure: StorageError?, isOverride: Bool) {
        (entry, version) = source
        self.codec = codec
        self.others = others
        self.failure = failure
        self.isOverride = isOverride
    }

    /// The value: the caller knows its type, which is that of the key.
    @inlinable final func value<Value: Sendable>() -> Value {
        unsafeDowncast(self, to: ValueReading<Value>.self).value
    }

    /// Whether the entries are unchanged.
    final var isCurrent: Bool {
        entry.version == version && (others.isEmpty || others.allSatisfy { $0.entry.version == $0.version })
    }
}

/// A reading that contains its value.
@usableFromInline final class ValueReading<Value: Sendable>: Reading, @unchecked Sendable {
    @usableFromInline let value: Value

    init(
        _ value: Value, of source: EntryVersion, codec: UInt64, others: [EntryVersion] = [], failure: StorageError? = nil,
        isOverride: Bool = false
    ) {
        self.value = value
        super.init(source, codec: codec, others: others, failure: failure, isOverride: isOverride)
    }
}

/// The last readings of a key, in each of the few stores in which it is used: the only cache of decoded values.
///
/// The entries from which the values were read refer to it, and clear it when they are removed and when their store is released.
final class ReadingCache: Sendable {
    // A key is rarely used with more stores alternately.
    private static let otherLimit = 3

    // The last reading, which is usually the only one, and those in other stores.
    private let readings = Lock<(last: Reading?, others: [Reading])>((nil, []))

    /// The last reading in a store, if it is still valid.
    func reading(in store: UInt64) -> Reading? {
        let known = readings.withLock { readings -> Reading? in
            if let last = readings.last, last.entry.store == store { return last }
            return readings.others.first { $0.entry.store == store }
        }
        guard let known, known.isCurrent else { return nil }
        return known
    }

    func reading(of entry: Entry, at version: UInt64, by codec: UInt64) -> Reading? {
        readings.withLock { readings -> Reading? in
            if let last = readings.last, last.entry === entry { return last.codec == codec && last.version == version ? last : nil }
            return readings.others.first { $0.entry === entry && $0.codec == codec && $0.version == version }
        }
    }

    /// Caches a reading, replacing an earlier one in the same store.
    func keep(_ reading: Reading) {
        readings.take { readings in
            let before = readings
            if let last = readings.last, last.entry.store != reading.entry.store {
                readings.others.removeAll { $0.entry.store == reading.entry.store }
                if readings.others.count == Self.otherLimit { readings.others.removeFirst() }
                readings.others.append(last)
            }
            readings.last = reading
            return before
        }
    }

    var isEmpty: Bool {
        readings.withLock { $0.last == nil && $0.others.isEmpty }
    }

    /// Releases the readings of an entry, or all. Not to be called while a lock is held: a user-defined deinit may run.
    func release(of entry: Entry? = nil) {
        readings.take { readings in
            let before = readings
            if entry == nil || readings.last?.entry === entry { readings.last = nil }
            readings.others.removeAll { entry == nil || $0.entry === entry }
            return before
        }
    }
}

// Readings belong to the entry, so that they are released with the entry and its store, regardless of the lifetime of the keys.
extension Entry {
    /// The reading decoded by a codec at a version, with any key.
    func reading(at version: UInt64, by codec: UInt64) -> Reading? {
        caches.withLock { caches -> Reading? in
            for cache in caches.known {
                if let reading = cache.reading(of: self, at: version, by: codec) { return reading }
            }
            return nil
        }
    }

    /// Registers a cache that contains a reading of the entry.
    func add(_ cache: ReadingCache) {
        caches.withLock { caches in
            guard !caches.known.contains(where: { $0 === cache }) else { return }
            if caches.known.count >= caches.sweepThreshold {
                // Any number of keys may be created: the caches of released keys, which are empty, are removed.
                caches.known = caches.known.filter { !$0.isEmpty }
                caches.sweepThreshold = max(4, caches.known.count * 2)
            }
            caches.known.append(cache)
        }
    }

    /// Releases all readings. Not to be called while a lock is held: a user-defined deinit may run.
    func releaseReadings() {
        let known = caches.take { caches in
            defer { caches = ([], 4) }
            return caches.known
        }
        for cache in known { cache.release(of: self) }
    }
}
