/// What a key's value was when it was read, at which version of the entry that it came from.
///
/// The one cache of decoded values: the entry that the value came from keeps it.
@usableFromInline class Reading: @unchecked Sendable {
    // Sendable because nothing in it changes; only a class that is not final may have subclasses, which add a Sendable value.

    /// The number of the key; see ``KeyReference/id``.
    let key: UInt64
    /// That of the entry that keeps the reading.
    let version: UInt64
    /// The number of the codec that decoded the value from what is stored there in its present shape; 0 if none did.
    let codec: UInt64
    // Of the key's own entry and its fallback, the one that the value did not come from.
    private let other: Entry?
    private let otherVersion: UInt64
    /// What is wrong with what is stored, in place of which the value counts.
    let failure: StorageError?

    fileprivate init(key: UInt64, version: UInt64, codec: UInt64, other: Entry?, otherVersion: UInt64, failure: StorageError?) {
        self.key = key
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
    final func isCurrent(of entry: Entry) -> Bool {
        entry.version == version && (other == nil || other?.version == otherVersion)
    }
}

/// A reading with its value.
@usableFromInline final class ValueReading<Value: Sendable>: Reading, @unchecked Sendable {
    @usableFromInline let value: Value

    init(
        _ value: Value, key: UInt64, version: UInt64, codec: UInt64, other: Entry? = nil, otherVersion: UInt64 = 0,
        failure: StorageError? = nil
    ) {
        self.value = value
        super.init(key: key, version: version, codec: codec, other: other, otherVersion: otherVersion, failure: failure)
    }
}
