/// Seconds as a whole number, rounded down, and the decimal digits of the fraction above it.
///
/// All of it works on decimal digits, so that no rounding happens but that of the standard library, which is exact.
enum DecimalSeconds {
    /// Takes seconds apart; the digits are the fewest that join to the same seconds.
    static func split(_ seconds: Double) -> (whole: Int, fraction: String) {
        let (digits, fraction) = decimal(seconds.magnitude)
        let whole = Int(digits) ?? 0
        guard seconds < 0 else { return (whole, fraction) }
        return fraction.isEmpty ? (-whole, "") : (-whole - 1, complement(fraction))
    }

    /// The seconds nearest to a whole number and a fraction above it.
    static func join(whole: Int, fraction: String) -> Double {
        let digits = trimmed(fraction)
        if whole >= 0 { return Double("\(whole).\(digits)0") ?? Double(whole) }
        if digits.isEmpty { return Double(whole) }
        return Double("-\(-whole - 1).\(complement(digits))") ?? Double(whole)
    }

    /// What is missing from a fraction to 1.
    private static func complement(_ fraction: String) -> String {
        var digits = fraction.utf8.map { UInt8(ascii: "9") - $0 + UInt8(ascii: "0") }
        // The last digit is not 0, so that one more never carries.
        digits[digits.count - 1] += 1
        return String(decoding: digits, as: UTF8.self)
    }

    /// The shortest decimal notation, without an exponent.
    private static func decimal(_ number: Double) -> (whole: String, fraction: String) {
        let parts = number.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let fraction = mantissa.count > 1 ? trimmed(String(mantissa[1])) : ""
        guard parts.count > 1, let exponent = Int(parts[1]), exponent < 0 else { return (String(mantissa[0]), fraction) }
        return ("0", String(repeating: "0", count: -exponent - 1) + mantissa[0] + fraction)
    }

    private static func trimmed(_ fraction: String) -> String {
        String(fraction.reversed().drop { $0 == "0" }.reversed())
    }
}
