public import Foundation
public import PropertyListCoding

/// Whatever values can be read from and written to by key: a store, a scene, a transaction.
public protocol ValueAccess {
    /// The value of a key.
    subscript<Value: Sendable>(key: StorageKey<Value>) -> Value { get nonmutating set }
}

/// Raw access, by name: nil where nothing is stored, or something that is not of the type; see ``StorageKey`` for values with a default.
extension ValueAccess {
    /// What is stored under a name, if it is a value of a type.
    public func value<Value: Storable>(_ type: Value.Type = Value.self, forKey name: String) -> Value? {
        // What a key would keep of an earlier value is not asked for here.
        guard let stored = self[StorageKey<PropertyListValue?>(name)] else { return nil }
        do {
            return try Value(propertyListValue: stored)
        } catch {
            return nil
        }
    }

    /// Stores a value of any type under a name; nil removes what is there.
    public func set<Value: Storable>(_ value: Value?, forKey name: String) {
        self[StorageKey<Value?>(name)] = value
    }

    /// Removes what is stored under a name.
    public func removeValue(forKey name: String) {
        self[StorageKey<PropertyListValue?>(name)] = nil
    }

    /// What is stored under a name, whatever it is.
    public func propertyListValue(forKey name: String) -> PropertyListValue? { value(forKey: name) }
    /// The text stored under a name.
    public func string(forKey name: String) -> String? { value(forKey: name) }
    /// The integer stored under a name.
    public func integer(forKey name: String) -> Int? { value(forKey: name) }
    /// The real, or the integer that a `Double` holds exactly, stored under a name.
    public func double(forKey name: String) -> Double? { value(forKey: name) }
    /// The real, or the integer that a `Float` holds exactly, stored under a name.
    public func float(forKey name: String) -> Float? { value(forKey: name) }
    /// The truth value stored under a name.
    public func bool(forKey name: String) -> Bool? { value(forKey: name) }
    /// The bytes stored under a name.
    public func data(forKey name: String) -> Data? { value(forKey: name) }
    /// The date stored under a name.
    public func date(forKey name: String) -> Date? { value(forKey: name) }
    /// The URL stored under a name.
    public func url(forKey name: String) -> URL? { value(forKey: name) }
    /// The array stored under a name.
    public func array(forKey name: String) -> [PropertyListValue]? { value(forKey: name) }
    /// The array of texts stored under a name; nothing if one of them is something else.
    public func stringArray(forKey name: String) -> [String]? { value(forKey: name) }
    /// The dictionary stored under a name.
    public func dictionary(forKey name: String) -> [String: PropertyListValue]? { value(forKey: name) }
}
