public import Foundation
public import PropertyListCoding

extension Double: StorageValue {
    /// A stored real, or an integer that a `Double` holds exactly.
    public init(propertyListValue: PropertyListValue) throws {
        switch propertyListValue {
        case .real(let real): self = real
        case .integer(let integer): self = try integer.exactReal()
        default: throw DecodingMismatch(Self.self, propertyListValue)
        }
    }

    /// A real, bit for bit.
    public var propertyListValue: PropertyListValue { .real(self) }
}

extension Float: StorageValue {
    /// A stored real within the type's range, rounded to its precision, or an integer that a `Float` holds exactly.
    public init(propertyListValue: PropertyListValue) throws {
        switch propertyListValue {
        case .real(let real):
            self.init(real)
            guard isFinite || !real.isFinite else { throw DecodingMismatch(Self.self, found: "real \(real), which is out of range") }
        case .integer(let integer): self = try integer.exactReal()
        default: throw DecodingMismatch(Self.self, propertyListValue)
        }
    }

    /// A real.
    public var propertyListValue: PropertyListValue { .real(Double(self)) }
}

extension CGFloat: StorageValue {
    /// A stored real, or an integer that a `CGFloat` holds exactly.
    public init(propertyListValue: PropertyListValue) throws {
        self.init(try NativeType(propertyListValue: propertyListValue))
    }

    /// A real.
    public var propertyListValue: PropertyListValue { .real(Double(native)) }
}

extension PropertyListInteger {
    fileprivate func exactReal<Real: BinaryFloatingPoint>() throws -> Real {
        let real = value(as: Int64.self).map(Real.init(exactly:)) ?? value(as: UInt64.self).flatMap(Real.init(exactly:))
        guard let real else {
            throw DecodingMismatch(Real.self, found: "integer \(self), which it cannot hold exactly")
        }
        return real
    }
}
