import PropertyListCoding

/// A type whose values are read and written by key: a store, a scene, or a transaction.
public protocol KeyValueAccess {
    /// The value of a key.
    subscript<Value: Sendable>(key: StorageKey<Value>) -> Value { get nonmutating set }

    /// Removes the entry of a name. A scene inherits the application's value again.
    func removeValue(forKey name: String)
}

/// Access by name: nil if no value is stored, or one of another type; see ``StorageKey`` for values with a default.
extension KeyValueAccess {
    /// The value stored under a name; nil if there is none, or if it is of another type.
    public func value<Value: Storable>(_ type: Value.Type = Value.self, forKey name: String) -> Value? {
        // The last valid value of a key is not used here.
        guard let stored = self[StorageKey<PropertyListValue?>(name)] else { return nil }
        do {
            return try Value(propertyListValue: stored)
        } catch {
            return nil
        }
    }

    /// Stores a value of any type under a name; nil removes the entry, or hides the application's value in a scene.
    ///
    /// A value that cannot be stored changes nothing, and is reported in the store's `failures`; in a transaction, it makes that fail.
    public func set<Value: Storable>(_ value: Value?, forKey name: String) {
        self[StorageKey<Value?>(name)] = value
    }

    /// Sets the value of the name to nil.
    public func removeValue(forKey name: String) {
        self[StorageKey<PropertyListValue?>(name)] = nil
    }
}
