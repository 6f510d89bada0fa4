package import FoundationSubset

// Dates as ISO 8601 text in UTC, with the shortest fraction of a second that parses to the same date.
extension Date {
    // 2^53 rounded down: beyond the precision of seconds there is no time of day.
    private static let largestMagnitude = 9e15
    private static let reference = "2001-01-01T00:00:00Z"

    /// The text of a date, such as `2026-11-20T10:00:00.25Z`.
    ///
    /// Years outside 1...9999 have a sign and as many digits as they need; dates beyond any calendar are written as the reference date and
    /// the seconds from it.
    package var iso8601: String {
        let seconds = timeIntervalSinceReferenceDate
        guard seconds.magnitude < Self.largestMagnitude else { return "\(Self.reference)\(seconds < 0 ? "" : "+")\(seconds)s" }
        let (whole, fraction) = Self.parts(of: seconds)
        let date = CalendarDate(secondsSinceReference: whole)
        return "\(date.year > 9999 ? "+" : "")\(date.text)\(fraction.isEmpty ? "" : ".\(fraction)")Z"
    }

    /// Parses a date with `Z` or an offset, or a text that ``iso8601`` returns; returns nil if the text is neither.
    package init?(iso8601 text: String) {
        var rest = text[...].utf8
        if text.hasPrefix(Self.reference), text.hasSuffix("s"), let seconds = Double(text.dropFirst(Self.reference.count).dropLast()) {
            self.init(timeIntervalSinceReferenceDate: seconds)
            guard iso8601 == text else { return nil }
            return
        }
        guard let (date, fraction) = Self.dateAndTime(&rest), let offset = Self.offset(&rest), rest.isEmpty else { return nil }
        self.init(timeIntervalSinceReferenceDate: Self.seconds(whole: date.secondsSinceReference - Int64(offset), fraction: fraction))
    }
}

// MARK: - Parsing

extension Date {
    /// Parses a date and a time of day, without its offset, and returns the digits of the fraction of a second apart.
    private static func dateAndTime(_ rest: inout Substring.UTF8View) -> (date: CalendarDate, fraction: String)? {
        guard let year = year(&rest), rest.skip("-"), let month = rest.number(2), rest.skip("-"), let day = rest.number(2),
            rest.skip("T") || rest.skip("t") || rest.skip(" "),
            let hour = rest.number(2), rest.skip(":"), let minute = rest.number(2), rest.skip(":"), let second = rest.number(2),
            let date = CalendarDate(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        guard rest.skip(".") || rest.skip(",") else { return (date, "") }
        let fraction = rest.removeDigits()
        return fraction.isEmpty ? nil : (date, String(decoding: fraction, as: UTF8.self))
    }

    /// Parses a year of four digits, or with a sign and up to nine.
    private static func year(_ rest: inout Substring.UTF8View) -> Int? {
        let isNegative = rest.skip("-")
        guard isNegative || rest.skip("+") else { return rest.number(4) }
        let digits = rest.digits.count
        guard (4...9).contains(digits), let year = rest.number(digits) else { return nil }
        return isNegative ? -year : year
    }

    /// Parses an offset from UTC, in seconds.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int? {
        if rest.skip("Z") || rest.skip("z") { return 0 }
        let isNegative = rest.skip("-")
        guard isNegative || rest.skip("+"), let hours = rest.number(2), hours < 24 else { return nil }
        guard !rest.isEmpty else { return (isNegative ? -1 : 1) * hours * 3600 }
        _ = rest.skip(":")
        guard let minutes = rest.number(2), minutes < 60 else { return nil }
        return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
}

extension Substring.UTF8View {
    /// Removes an ASCII character if it is the first, and returns whether it was.
    package mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Removes the digits at the start, and returns them.
    package mutating func removeDigits() -> [UInt8] {
        let digits = digits
        removeFirst(digits.count)
        return Array(digits)
    }

    fileprivate var digits: Self {
        prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }

    /// Parses a number with the given number of digits.
    fileprivate mutating func number(_ count: Int) -> Int? {
        let digits = prefix(count).digits
        guard digits.count == count else { return nil }
        removeFirst(count)
        return Int(Substring(digits))
    }
}

// MARK: - Seconds and their fraction

// Decimal digits, so that the only conversions are the exact ones of the standard library.
extension Date {
    /// Splits seconds into a whole number, rounded down, and the shortest fraction from which ``seconds(whole:fraction:)`` restores them.
    private static func parts(of seconds: Double) -> (whole: Int64, fraction: String) {
        let (digits, fraction) = decimal(seconds.magnitude)
        let whole = Int64(digits) ?? 0
        guard seconds < 0 else { return (whole, fraction) }
        return fraction.isEmpty ? (-whole, "") : (-whole - 1, complement(fraction))
    }

    /// Joins a whole number of seconds and a fraction above it into the nearest double.
    private static func seconds(whole: Int64, fraction: String) -> Double {
        let digits = trimmed(fraction)
        if whole >= 0 { return Double("\(whole).\(digits)0") ?? Double(whole) }
        if digits.isEmpty { return Double(whole) }
        return Double("-\(-whole - 1).\(complement(digits))") ?? Double(whole)
    }

    /// The difference between 1 and a fraction.
    private static func complement(_ fraction: String) -> String {
        var digits = fraction.utf8.map { UInt8(ascii: "9") - $0 + UInt8(ascii: "0") }
        // The last digit of the fraction is not 0, so that adding 1 never carries.
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
