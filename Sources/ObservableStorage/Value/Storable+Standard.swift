public import FoundationSubset
public import PropertyListCoding

extension PropertyListValue: StandardStorable {
    /// Creates the value that is stored.
    public init(propertyListValue: PropertyListValue) {
        self = propertyListValue
    }

    /// The value itself.
    public var propertyListValue: PropertyListValue { self }
}

extension Bool: StandardStorable {
    /// Creates a Boolean from a stored one; 0 and 1 are integers.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .boolean(let boolean) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self = boolean
    }

    /// A boolean.
    public var propertyListValue: PropertyListValue { .boolean(self) }
}

extension String: StandardStorable {
    /// Creates a string from a stored one; numbers and booleans are not converted.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .string(let string) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self = string
    }

    /// A string.
    public var propertyListValue: PropertyListValue { .string(self) }
}

extension Data: StandardStorable {
    /// Creates data from stored data.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .data(let data) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self = data
    }

    /// Data.
    public var propertyListValue: PropertyListValue { .data(self) }
}

extension Date: StandardStorable {
    /// Creates a date from a stored one; text is not converted.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .date(let date) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self = date
    }

    /// A date, which an XML property list truncates to whole seconds.
    public var propertyListValue: PropertyListValue { .date(self) }
}

extension Storable where Self: FixedWidthInteger {
    /// Creates an integer from a stored one within the type's range; a type of more than 64 bits also reads a string of digits.
    public init(propertyListValue: PropertyListValue) throws {
        switch propertyListValue {
        case .integer(let integer):
            guard let number = integer.value(as: Self.self) else {
                throw CodingFailure(Self.self, found: "integer \(integer), which is out of range")
            }
            self = number
        case .string(let text) where Self.bitWidth > 64:
            guard let number = Self(text) else { throw CodingFailure(Self.self, refusing: text) }
            self = number
        default: throw CodingFailure(Self.self, propertyListValue)
        }
    }

    /// An integer, or a string of decimal digits if the number is beyond 64 bits.
    public var propertyListValue: PropertyListValue {
        get throws {
            // The generic conversion takes as long as storing the value.
            if Self.bitWidth <= 64 {
                let bits = UInt64(truncatingIfNeeded: self)
                return .integer(Self.isSigned ? PropertyListInteger(Int64(bitPattern: bits)) : PropertyListInteger(bits))
            }
            return PropertyListInteger(exactly: self).map { .integer($0) } ?? .string(String(self))
        }
    }
}

extension Int: StandardStorable {}
extension Int8: StandardStorable {}
extension Int16: StandardStorable {}
extension Int32: StandardStorable {}
extension Int64: StandardStorable {}
extension Int128: StandardStorable {}
extension UInt: StandardStorable {}
extension UInt8: StandardStorable {}
extension UInt16: StandardStorable {}
extension UInt32: StandardStorable {}
extension UInt64: StandardStorable {}
extension UInt128: StandardStorable {}

extension Double: StandardStorable {
    /// Creates a number from a stored real, or from an integer that a `Double` holds exactly.
    public init(propertyListValue: PropertyListValue) throws {
        switch propertyListValue {
        case .real(let real): self = real
        case .integer(let integer): self = try integer.exactReal()
        default: throw CodingFailure(Self.self, propertyListValue)
        }
    }

    /// A real with the same bits.
    public var propertyListValue: PropertyListValue { .real(self) }
}

extension Float: StandardStorable {
    /// Creates a number from a stored real within the type's range, rounded to its precision, or from an integer that a `Float` holds exactly.
    public init(propertyListValue: PropertyListValue) throws {
        switch propertyListValue {
        case .real(let real):
            self.init(real)
            guard isFinite || !real.isFinite else { throw CodingFailure(Self.self, found: "real \(real), which is out of range") }
        case .integer(let integer): self = try integer.exactReal()
        default: throw CodingFailure(Self.self, propertyListValue)
        }
    }

    /// A real.
    public var propertyListValue: PropertyListValue { .real(Double(self)) }
}

extension PropertyListInteger {
    fileprivate func exactReal<Real: BinaryFloatingPoint>() throws -> Real {
        let real = value(as: Int64.self).map(Real.init(exactly:)) ?? value(as: UInt64.self).flatMap(Real.init(exactly:))
        guard let real else {
            throw CodingFailure(Real.self, found: "integer \(self), which it cannot hold exactly")
        }
        return real
    }
}
