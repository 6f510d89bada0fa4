public import FoundationSubset
public import PropertyListCoding

/// A type whose values are read and written by key: a store, a scene, or a transaction.
public protocol KeyValueAccess {
    /// The value of a key.
    subscript<Value: Sendable>(key: StorageKey<Value>) -> Value { get nonmutating set }

    /// Removes the entry of a name. A scene inherits the application's value again.
    func removeValue(forKey name: String)
}

/// Access by name: nil if no value is stored, or one of another type; see ``StorageKey`` for values with a default.
extension KeyValueAccess {
    /// The value stored under a name, if it has the given type.
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
    public func set<Value: Storable>(_ value: Value?, forKey name: String) {
        self[StorageKey<Value?>(name)] = value
    }

    /// Sets the value of the name to nil.
    public func removeValue(forKey name: String) {
        self[StorageKey<PropertyListValue?>(name)] = nil
    }

    /// The value stored under a name, of any type.
    public func propertyListValue(forKey name: String) -> PropertyListValue? { value(forKey: name) }
    /// The string stored under a name.
    public func string(forKey name: String) -> String? { value(forKey: name) }
    /// The integer stored under a name.
    public func integer(forKey name: String) -> Int? { value(forKey: name) }
    /// The real, or the integer that a `Double` represents exactly, stored under a name.
    public func double(forKey name: String) -> Double? { value(forKey: name) }
    /// The real, or the integer that a `Float` represents exactly, stored under a name.
    public func float(forKey name: String) -> Float? { value(forKey: name) }
    /// The Boolean stored under a name.
    public func bool(forKey name: String) -> Bool? { value(forKey: name) }
    /// The data stored under a name.
    public func data(forKey name: String) -> Data? { value(forKey: name) }
    /// The date stored under a name.
    public func date(forKey name: String) -> Date? { value(forKey: name) }
    /// The URL stored under a name.
    public func url(forKey name: String) -> URL? { value(forKey: name) }
    /// The array stored under a name.
    public func array(forKey name: String) -> [PropertyListValue]? { value(forKey: name) }
    /// The array of strings stored under a name; nil if an element has another type.
    public func stringArray(forKey name: String) -> [String]? { value(forKey: name) }
    /// The dictionary stored under a name.
    public func dictionary(forKey name: String) -> [String: PropertyListValue]? { value(forKey: name) }
}
