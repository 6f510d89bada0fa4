public import Foundation
public import PropertyListCoding

extension PropertyListValue: StorageValue {
    /// What is stored, as it is.
    public init(propertyListValue: PropertyListValue) {
        self = propertyListValue
    }

    /// The value itself.
    public var propertyListValue: PropertyListValue { self }
}

extension Bool: StorageValue {
    /// A stored boolean; 0 and 1 are none.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .boolean(let boolean) = propertyListValue else { throw DecodingMismatch(Self.self, propertyListValue) }
        self = boolean
    }

    /// A boolean.
    public var propertyListValue: PropertyListValue { .boolean(self) }
}

extension String: StorageValue {
    /// A stored string.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .string(let string) = propertyListValue else { throw DecodingMismatch(Self.self, propertyListValue) }
        self = string
    }

    /// A string.
    public var propertyListValue: PropertyListValue { .string(self) }
}

extension Data: StorageValue {
    /// Stored data.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .data(let data) = propertyListValue else { throw DecodingMismatch(Self.self, propertyListValue) }
        self = data
    }

    /// Data.
    public var propertyListValue: PropertyListValue { .data(self) }
}

extension Date: StorageValue {
    /// A stored date.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .date(let date) = propertyListValue else { throw DecodingMismatch(Self.self, propertyListValue) }
        self = date
    }

    /// A date; an XML property list keeps whole seconds of it.
    public var propertyListValue: PropertyListValue { .date(self) }
}
