/// A key behind one reference, with what was last read with it: copies of a key share both.
final class KeyBody<Value: Sendable>: Sendable {
    let traits: KeyTraits<Value>
    /// What the value is stored under, and what it is taken from while nothing is stored there.
    let entryName: EntryName
    /// Whether reading may have to change what is stored; not so for most keys.
    let needsUpkeep: Bool
    // Without a type, so that looking at it costs the same for every type; it holds readings of this key's type only.
    private let last = Guarded<Reading?>(nil)

    init(_ traits: KeyTraits<Value>) {
        self.traits = traits
        entryName = EntryName(own: traits.name, inherited: traits.shared.first?.name)
        needsUpkeep =
            !traits.migrations.isEmpty || !traits.earlierNames.isEmpty || !traits.persistsDefault.isEmpty
            || traits.shared.contains { $0.body.needsUpkeep }
    }

    /// What was last read with the key, if it was in this store; current or not.
    func lastReading(in store: UInt64) -> ValueReading<Value>? {
        guard let reading = last.withLock({ $0 }), reading.store == store else { return nil }
        return unsafeDowncast(reading, to: ValueReading<Value>.self)
    }

    /// Remembers what was read.
    func remember(_ reading: ValueReading<Value>) {
        // What was there leaves the lock, since its release may run code of the user's.
        _ = last.withLock { last in
            defer { last = reading }
            return last
        }
    }
}
