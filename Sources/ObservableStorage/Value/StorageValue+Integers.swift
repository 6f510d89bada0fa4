public import PropertyListCoding

extension StorageValue where Self: FixedWidthInteger {
    /// A stored integer within the type's range; a boolean or a real is none.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .integer(let integer) = propertyListValue else { throw DecodingMismatch(Self.self, propertyListValue) }
        guard let number = integer.value(as: Self.self) else {
            throw DecodingMismatch(Self.self, found: "integer \(integer), which is out of range")
        }
        self = number
    }

    /// An integer.
    public var propertyListValue: PropertyListValue {
        get throws {
            // Asking for the exact number in a generic way would cost as much as storing it.
            if Self.bitWidth <= 64 {
                let bits = UInt64(truncatingIfNeeded: self)
                return .integer(Self.isSigned ? PropertyListInteger(Int64(bitPattern: bits)) : PropertyListInteger(bits))
            }
            guard let integer = PropertyListInteger(exactly: self) else {
                throw EncodingRefusal("\(self) is beyond 64 bits")
            }
            return .integer(integer)
        }
    }
}

extension Int: StorageValue {}
extension Int8: StorageValue {}
extension Int16: StorageValue {}
extension Int32: StorageValue {}
extension Int64: StorageValue {}
extension UInt: StorageValue {}
extension UInt8: StorageValue {}
extension UInt16: StorageValue {}
extension UInt32: StorageValue {}
extension UInt64: StorageValue {}
