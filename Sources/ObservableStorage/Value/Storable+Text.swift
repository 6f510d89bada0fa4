public import Foundation
public import PropertyListCoding

extension URL: Storable {
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

extension UUID: Storable {
    /// A stored string of 36 characters, in upper or lower case.
    public init(propertyListValue: PropertyListValue) throws {
        let string = try String(propertyListValue, for: Self.self)
        guard let uuid = UUID(uuidString: string) else { throw DecodingMismatch(Self.self, refusing: string) }
        self = uuid
    }

    /// The string, in upper case.
    public var propertyListValue: PropertyListValue { .string(uuidString) }
}

extension Decimal: Storable {
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

/// A decimal number taken from its text, without rounding: two texts of the same number are equal.
struct DecimalDigits: Hashable {
    private let isNegative: Bool
    // Without zeros at the start and at the end; empty for 0.
    private let digits: [UInt8]
    // Of the last digit, as a power of ten.
    private let exponent: Int

    // Far beyond what a `Decimal` has, far below what could overflow.
    private static let exponents = -1_000_000...1_000_000

    /// Takes a sign, digits with at most one point among them, and an exponent; nothing if the text is anything else.
    init?(_ text: String) {
        var rest = Substring(text).utf8
        var isNegative = Self.takeSign(&rest) == .minus
        let whole = Self.takeDigits(&rest)
        var fraction: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = Self.takeDigits(&rest)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = 0
        if let letter = rest.popFirst() {
            guard letter | 0x20 == UInt8(ascii: "e") else { return nil }
            guard let number = Int(String(Substring(rest))), Self.exponents ~= number else { return nil }
            exponent = number
        }
        exponent -= fraction.count
        var digits = Array((whole + fraction).drop { $0 == UInt8(ascii: "0") })
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        if digits.isEmpty {
            (isNegative, exponent) = (false, 0)
        }
        self.isNegative = isNegative
        self.digits = digits
        self.exponent = exponent
    }

    private static func takeSign(_ text: inout Substring.UTF8View) -> FloatingPointSign {
        guard let sign = text.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") else { return .plus }
        text.removeFirst()
        return sign == UInt8(ascii: "-") ? .minus : .plus
    }

    private static func takeDigits(_ text: inout Substring.UTF8View) -> [UInt8] {
        let digits = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        text = text[digits.endIndex...]
        return Array(digits)
    }
}
