/// An integer from `Int64.min` to `UInt64.max`, the range of integers in a property list.
public struct PropertyListInteger: Sendable, Hashable {
    // One number has one representation: the bits are unsigned unless the number is negative.
    let bits: UInt64
    let isNegative: Bool

    /// Creates an integer from a number of any width, or returns nil if it is out of range.
    public init?(exactly number: some BinaryInteger) {
        if let unsigned = UInt64(exactly: number) {
            (bits, isNegative) = (unsigned, false)
        } else if let signed = Int64(exactly: number) {
            (bits, isNegative) = (UInt64(bitPattern: signed), true)
        } else {
            return nil
        }
    }

    /// Creates an integer from a signed number.
    public init(_ number: Int64) {
        (bits, isNegative) = (UInt64(bitPattern: number), number < 0)
    }

    /// Creates an integer from an unsigned number.
    public init(_ number: UInt64) {
        (bits, isNegative) = (number, false)
    }

    /// Creates an integer from its sign and its digits, or returns nil if it is out of range.
    init?(magnitude: UInt64, isNegative: Bool) {
        guard !isNegative || magnitude <= Int64.min.magnitude else { return nil }
        self = isNegative ? PropertyListInteger(Int64(truncatingIfNeeded: 0 &- magnitude)) : PropertyListInteger(magnitude)
    }

    /// The number as the requested type, or nil if it does not fit.
    public func value<Number: FixedWidthInteger>(as type: Number.Type = Number.self) -> Number? {
        isNegative ? Number(exactly: Int64(bitPattern: bits)) : Number(exactly: bits)
    }
}

extension PropertyListInteger: ExpressibleByIntegerLiteral {
    /// Creates an integer from a literal.
    public init(integerLiteral number: Int64) {
        self.init(number)
    }
}

extension UInt64 {
    /// The number with one more digit; nil if it is out of range.
    func appending(_ digit: UInt8, radix: UInt64 = 10) -> UInt64? {
        let (shifted, isLarge) = multipliedReportingOverflow(by: radix)
        let (number, isLarger) = shifted.addingReportingOverflow(UInt64(digit))
        return isLarge || isLarger ? nil : number
    }
}

extension PropertyListInteger: CustomStringConvertible {
    /// The number in decimal.
    public var description: String {
        isNegative ? String(Int64(bitPattern: bits)) : String(bits)
    }
}
