/// Which entries of which store something was read from, and how old they were.
@usableFromInline class Reading: @unchecked Sendable {
    // Sendable because nothing in it changes; only a class that is not final may have subclasses, which add a Sendable value.
    let store: UInt64
    let own: EntryWatch
    let inherited: EntryWatch?
    let ownChanges: UInt64
    let inheritedChanges: UInt64
    /// What is wrong with what is stored, in place of which the value counts.
    let failure: StorageError?

    /// Notes how old the entries are. Called where the order of changes is decided.
    init(store: UInt64, own: EntryWatch, inherited: EntryWatch?) {
        self.store = store
        self.own = own
        self.inherited = inherited
        ownChanges = own.changes
        inheritedChanges = inherited?.changes ?? 0
        failure = nil
    }

    init(_ reading: Reading, failure: StorageError?) {
        store = reading.store
        own = reading.own
        inherited = reading.inherited
        ownChanges = reading.ownChanges
        inheritedChanges = reading.inheritedChanges
        self.failure = failure
    }

    /// The value that was read with a key: the caller knows its type.
    @inlinable final func value<Value: Sendable>(_ type: Value.Type = Value.self) -> Value {
        unsafeDowncast(self, to: ValueReading<Value>.self).value
    }

    /// Whether the entries are still as they were.
    final var isCurrent: Bool {
        own.changes == ownChanges && (inherited == nil || inherited?.changes == inheritedChanges)
    }
}

/// What was last read with a key. The entry that it was read from empties it when it goes.
final class ReadingCache: Sendable {
    private let last = Guarded<Reading?>(nil)

    /// What it holds.
    var reading: Reading? {
        last.withLock { $0 }
    }

    /// Holds another reading.
    func keep(_ reading: Reading) {
        last.take { last in
            defer { last = reading }
            return last
        }
    }

    /// Lets go of what was read. Not to be called under a lock: releasing may run code of the user's.
    func empty() {
        last.take { $0.take() }
    }
}

/// What a key's value was when it was read.
@usableFromInline final class ValueReading<Value: Sendable>: Reading, @unchecked Sendable {
    @usableFromInline let value: Value

    init(_ reading: Reading, value: Value, failure: StorageError?) {
        self.value = value
        super.init(reading, failure: failure)
    }
}
