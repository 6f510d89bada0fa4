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
    /// The change as a key sees it.
    func typed<Value>(for key: StorageKey<Value>) -> Change<Value> {
        Change(
            key: self.key, oldValue: key.valueOrDefault(oldValue ?? registered), newValue: key.valueOrDefault(newValue ?? registered),
            kind: kind(for: key), origin: origin, revision: revision)
    }

    /// The value after the change, or nothing if it cannot be decoded.
    func decodedValue<Value>(for key: StorageKey<Value>) -> Value? {
        do {
            return try key.value(newValue ?? registered)
        } catch {
            return nil
        }
    }

    private func kind<Value>(for key: StorageKey<Value>) -> ChangeKind {
        guard let newValue else { return .removed }
        do {
            _ = try key.value(newValue)
            return .set
        } catch {
            return .undecodable(error)
        }
    }
}
