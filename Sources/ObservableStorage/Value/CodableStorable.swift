public import PropertyListCoding

/// A `Codable` type whose values are stored as native property-list structures, which `prefs` and `plutil` show and edit.
///
/// ```swift
/// struct Account: Codable, CodableStorable { var name: String }
/// let account = StorageKey<Account?>("account")
/// ```
///
/// In a project that isolates everything to the main actor by default, a type that is `Codable` only, and is stored with a codec such as
/// ``StorageCodec/json``, has to be `nonisolated struct Account: Codable`: stores encode on other threads. This protocol implies it.
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

// Both protocols have a form for an enumeration with a raw value. Its encoding is used, which is the raw value by default.
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

// Each element is encoded by itself. Because of the conformance, keys cache the decoded values: decoders are slow.
extension Optional: CodableStorable where Wrapped: CodableStorable {}
extension Array: CodableStorable where Element: CodableStorable {}
extension Set: CodableStorable where Element: CodableStorable {}
extension Dictionary: CodableStorable where Key: Storable & LosslessStringConvertible & Codable, Value: CodableStorable {}
