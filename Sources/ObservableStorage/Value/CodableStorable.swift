public import PropertyListCoding

/// A `Codable` type whose values are stored as native property-list structures, which `prefs` and `plutil` show and edit.
///
/// ```swift
/// struct Account: Codable, CodableStorable { var name: String }
/// let account = StorageKey<Account?>("account")
/// ```
///
/// Stores encode on any thread. In a module whose default isolation is the main actor, a type that is only `Codable`, and is stored with a
/// codec such as ``StorageCodec/json``, therefore has to be `nonisolated struct Account: Codable`; this protocol implies it.
///
/// The stored form is that of ``StorageCodec/propertyList``.
public protocol CodableStorable: Codable, Storable {}

extension CodableStorable {
    /// Decodes the value from its stored form.
    public init(propertyListValue: PropertyListValue) throws {
        self = try StorageCodec.propertyList.decode(propertyListValue)
    }

    /// The encoded value.
    ///
    /// Throws for nil inside an array, and whatever the type's encoding throws.
    public var propertyListValue: PropertyListValue {
        get throws {
            try StorageCodec.propertyList.encode(self)
        }
    }
}

// `Storable` has members for raw values, too, which would be ambiguous. The encoding is used, which is the raw value by default.
extension CodableStorable where Self: RawRepresentable, RawValue: Storable {
    /// Decodes the value from its stored form.
    public init(propertyListValue: PropertyListValue) throws {
        self = try StorageCodec.propertyList.decode(propertyListValue)
    }

    /// The encoded value.
    public var propertyListValue: PropertyListValue {
        get throws {
            try StorageCodec.propertyList.encode(self)
        }
    }
}

// Each element is encoded separately. The conformance makes keys cache decoded values, because decoders are slow.
extension Optional: CodableStorable where Wrapped: CodableStorable {}
extension Array: CodableStorable where Element: CodableStorable {}
extension Set: CodableStorable where Element: CodableStorable {}
extension Dictionary: CodableStorable where Key: Storable & LosslessStringConvertible & Codable, Value: CodableStorable {}
