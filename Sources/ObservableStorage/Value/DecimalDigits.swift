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
