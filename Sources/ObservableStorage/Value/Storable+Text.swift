public import FoundationSubset
public import PropertyListCoding

extension URL: StandardStorable {
    /// Creates a URL from a stored string: a relative or absolute URL without characters that would have to be escaped, or the path of a
    /// file, as `UserDefaults` stores it, beginning with `/`, or with `~` for the user's home folder.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { string in
            if let file = URL(storedPath: string) { return file }
            let url = URL(string: string, encodingInvalidCharacters: false)
            return url?.absoluteString == string ? url : nil
        }
    }

    /// The absolute string.
    ///
    /// Throws for a URL that would be read as the path of a file: without a scheme, and beginning with `/` or `~`.
    public var propertyListValue: PropertyListValue {
        get throws {
            let string = absoluteString
            guard URL(storedPath: string) == nil else {
                throw CodingFailure("\(PropertyListValue.string(string).briefDescription) would be read as the path of a file")
            }
            return .string(string)
        }
    }

    /// The URL of a file whose path is stored as `UserDefaults` does; nil for text that does not begin as an absolute path.
    init?(storedPath text: String) {
        if text == "~" || text.hasPrefix("~/") {
            self = URL.homeDirectory.appending(path: text.dropFirst(2))
        } else if text.hasPrefix("/") {
            self = URL(filePath: text)
        } else {
            return nil
        }
    }
}

extension UUID: StandardStorable {
    /// Creates a UUID from a stored string of 36 characters, in upper or lower case.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { UUID(uuidString: $0) }
    }

    /// The string, in upper case.
    public var propertyListValue: PropertyListValue { .string(uuidString) }
}

extension Decimal: StandardStorable {
    // The decimal separator is a point.
    private static let locale = Locale(identifier: "en_US_POSIX")

    /// Creates a number from a stored string, with a point in every locale and at most the digits of a `Decimal`.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { string in
            // Foundation ignores text after the number, and truncates excess digits: the comparison detects both.
            guard let number = Self.parts(of: string), let decimal = Decimal(string: string, locale: Self.locale),
                let read = Self.parts(of: decimal.description), number == read
            else { return nil }
            return decimal
        }
    }

    /// The digits, with a point in every locale.
    ///
    /// Throws for NaN.
    public var propertyListValue: PropertyListValue {
        get throws {
            guard isFinite else { throw CodingFailure("it is not a number") }
            return .string(description)
        }
    }
}

extension Character: Storable {
    /// Creates a character from a stored string of exactly one.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { $0.count == 1 ? $0.first : nil }
    }

    /// A string of the character.
    public var propertyListValue: PropertyListValue { .string(String(self)) }
}

extension Locale: StandardStorable {
    /// Creates a locale from a stored identifier, which may be any string.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { identifier in
            // A program that links only FoundationEssentials has one locale, which it returns for every identifier.
            let locale = Locale(identifier: identifier)
            return locale.identifier == identifier ? locale : nil
        }
    }

    /// The identifier, without other settings of the user, as those of the current locale.
    public var propertyListValue: PropertyListValue { .string(identifier) }
}

extension TimeZone: StandardStorable {
    /// Creates a time zone from a stored identifier, if the system knows it. A program that links only FoundationEssentials knows just `GMT`.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { TimeZone(identifier: $0) }
    }

    /// The identifier.
    public var propertyListValue: PropertyListValue { .string(identifier) }
}

extension Duration: StandardStorable {
    // Decimal digits of an attosecond.
    private static let precision = 18

    // The seconds of a unit, and the units of a second.
    private static let units: [String: (seconds: Int128, fraction: Int128)] = [
        "ns": (1, 1_000_000_000), "us": (1, 1_000_000), "µs": (1, 1_000_000), "ms": (1, 1_000), "s": (1, 1), "m": (60, 1), "h": (3_600, 1),
    ]

    /// Creates a duration from a stored string of decimal numbers with their units, `h`, `m`, `s`, `ms`, `us` or `ns`: `90s`, `-0.25s`, `100ms`,
    /// `1m30s`. At most 18 digits follow the point, none of them below an attosecond.
    public init(propertyListValue: PropertyListValue) throws {
        self = try propertyListValue.parsed { string in Self.attoseconds(of: string).map { Duration(attoseconds: $0) } }
    }

    /// A string of decimal seconds, exact to the attosecond, with an `s` at the end: `90s`, `-0.25s`.
    public var propertyListValue: PropertyListValue {
        let digits = String(attoseconds.magnitude)
        let padded = String(repeating: "0", count: max(0, Self.precision + 1 - digits.count)) + digits
        var fraction = padded.suffix(Self.precision)
        while fraction.last == "0" { fraction.removeLast() }
        let sign = attoseconds < 0 ? "-" : ""
        return .string("\(sign)\(padded.dropLast(Self.precision))\(fraction.isEmpty ? "" : ".")\(fraction)s")
    }

    /// Parses decimal numbers with units; returns nil if the text is anything else or out of range.
    private static func attoseconds(of text: String) -> Int128? {
        var rest = Substring(text).utf8
        let sign = rest.skip("-") ? "-" : ""
        var sum: Int128 = 0
        repeat {
            guard let part = attoseconds(of: &rest, sign: sign) else { return nil }
            let (next, isOutOfRange) = sum.addingReportingOverflow(part)
            if isOutOfRange { return nil }
            sum = next
        } while !rest.isEmpty
        return sum
    }

    private static func attoseconds(of rest: inout Substring.UTF8View, sign: String) -> Int128? {
        let whole = rest.removeDigits()
        var fraction: [UInt8] = []
        if rest.skip(".") {
            fraction = rest.removeDigits()
            guard !fraction.isEmpty, fraction.count <= precision else { return nil }
        }
        let unit = rest.prefix { !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0) }
        guard !whole.isEmpty, let scale = units[String(Substring(unit))] else { return nil }
        rest = rest[unit.endIndex...]
        fraction.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: precision - fraction.count))
        guard let number = Int128(sign + String(decoding: whole + fraction, as: UTF8.self)) else { return nil }
        let (product, isOutOfRange) = number.multipliedReportingOverflow(by: scale.seconds)
        return isOutOfRange || product % scale.fraction != 0 ? nil : product / scale.fraction
    }
}

extension PropertyListValue {
    /// The value of another type for which a string is stored; `parse` returns nil for one that denotes none.
    func parsed<Value>(_ parse: (String) -> Value?) throws -> Value {
        guard case .string(let string) = self else { throw CodingFailure(Value.self, self) }
        guard let value = parse(string) else { throw CodingFailure(Value.self, refusing: string) }
        return value
    }
}

// Decimal numbers taken from their text, without rounding.
extension Decimal {
    // Includes every exponent of a `Decimal`, and cannot overflow.
    private static let exponents = -1_000_000...1_000_000

    /// Parses a sign, digits with at most one point among them, and an exponent; returns nil if the text is anything else.
    ///
    /// Texts of the same number have the same parts: the digits have no zeros at either end, and are empty for 0; the exponent is that of
    /// the last digit.
    private static func parts(of text: String) -> (isNegative: Bool, digits: [UInt8], exponent: Int)? {
        var rest = Substring(text).utf8
        let isNegative = rest.skip("-")
        if !isNegative { _ = rest.skip("+") }
        let whole = rest.removeDigits()
        var fraction: [UInt8] = []
        if rest.skip(".") {
            fraction = rest.removeDigits()
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = 0
        if let letter = rest.popFirst() {
            guard letter | 0x20 == UInt8(ascii: "e") else { return nil }
            guard let number = Int(String(Substring(rest))), exponents ~= number else { return nil }
            exponent = number
        }
        exponent -= fraction.count
        var digits = Array((whole + fraction).drop { $0 == UInt8(ascii: "0") })
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        return digits.isEmpty ? (false, [], 0) : (isNegative, digits, exponent)
    }
}
