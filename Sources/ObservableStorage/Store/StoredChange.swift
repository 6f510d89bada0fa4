import PropertyListCoding

/// A change as it is stored, before a key gives it a type.
struct StoredChange: Sendable {
    let key: String
    let oldValue: PropertyListValue?
    let newValue: PropertyListValue?
    /// What is registered for the entry, in place of a value that is not stored.
    let registered: PropertyListValue?
    let origin: ChangeOrigin
    let revision: UInt64
}

extension StoredChange {
    private var entry: StoredEntry {
        StoredEntry(stored: newValue, registered: registered)
    }

    /// The change as a key sees it.
    func typed<Value>(for key: StorageKey<Value>) -> Change<Value> {
        let value: Value
        let kind: ChangeKind
        do {
            value = try key.value(of: entry)
            kind = newValue == nil ? .removed : .set
        } catch {
            value = key.valueOrDefault(of: entry)
            kind = newValue == nil ? .removed : .undecodable(error)
        }
        return Change(
            key: self.key, oldValue: key.valueOrDefault(of: StoredEntry(stored: oldValue, registered: registered)), newValue: value,
            kind: kind, origin: origin, revision: revision)
    }

    /// The value after the change, or nothing if it cannot be decoded.
    func decodedValue<Value>(for key: StorageKey<Value>) -> Value? {
        do {
            return try key.value(of: entry)
        } catch {
            return nil
        }
    }
}
