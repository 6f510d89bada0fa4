public import Foundation
public import PropertyListCoding

extension URL: StorageValue {
    /// A stored string that is a whole URL, relative or absolute; nothing in it is escaped or left out to make it one.
    public init(propertyListValue: PropertyListValue) throws {
        let string = try String(propertyListValue, for: Self.self)
        guard let url = URL(string: string, encodingInvalidCharacters: false), url.absoluteString == string else {
            throw DecodingMismatch(Self.self, refusing: string)
        }
        self = url
    }

    /// The absolute string.
    public var propertyListValue: PropertyListValue { .string(absoluteString) }
}

extension UUID: StorageValue {
    /// A stored string of 36 characters, in upper or lower case.
    public init(propertyListValue: PropertyListValue) throws {
        let string = try String(propertyListValue, for: Self.self)
        guard let uuid = UUID(uuidString: string) else { throw DecodingMismatch(Self.self, refusing: string) }
        self = uuid
    }

    /// The string, in upper case.
    public var propertyListValue: PropertyListValue { .string(uuidString) }
}

extension Decimal: StorageValue {
    // The one where a point is a point.
    private static let locale = Locale(identifier: "en_US_POSIX")

    /// A stored string that is a number and nothing else, with a point in every locale and no more digits than a `Decimal` has.
    public init(propertyListValue: PropertyListValue) throws {
        let string = try String(propertyListValue, for: Self.self)
        // Foundation reads as far as it understands, and cuts what is too long: both show when its result is compared.
        guard let digits = DecimalDigits(string), let decimal = Decimal(string: string, locale: Self.locale),
            digits == DecimalDigits(decimal.description)
        else {
            throw DecodingMismatch(Self.self, refusing: string)
        }
        self = decimal
    }

    /// The digits, with a point in every locale.
    ///
    /// Throws for what is not a number.
    public var propertyListValue: PropertyListValue {
        get throws {
            guard isFinite else { throw EncodingRefusal("it is not a number") }
            return .string(description)
        }
    }
}

extension String {
    /// The string that is stored for a value of another type.
    fileprivate init(_ stored: PropertyListValue, for type: Any.Type) throws {
        guard case .string(let string) = stored else { throw DecodingMismatch(type, stored) }
        self = string
    }
}
