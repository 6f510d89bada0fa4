public import PropertyListCoding

extension StorageValue where Self: RawRepresentable, RawValue: StorageValue {
    /// The value whose raw value is stored.
    public init(propertyListValue: PropertyListValue) throws {
        guard let value = Self(rawValue: try RawValue(propertyListValue: propertyListValue)) else {
            throw DecodingMismatch(Self.self, found: propertyListValue.briefDescription)
        }
        self = value
    }

    /// The raw value.
    public var propertyListValue: PropertyListValue {
        get throws {
            try rawValue.propertyListValue
        }
    }
}
