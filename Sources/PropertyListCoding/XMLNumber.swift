/// Parses what stands in `<integer>`, `<real>` and `<date>`.
enum XMLNumber {
    /// Decimal or hexadecimal, with a sign or without, as Foundation accepts it; white space may also follow.
    static func integer(_ text: UnsafeRawBufferPointer) -> PropertyListInteger? {
        var text = trimmed(text)
        let isNegative = text.first == 0x2D
        if isNegative || text.first == 0x2B { text = trimmed(UnsafeRawBufferPointer(rebasing: text.dropFirst())) }
        let isHexadecimal = text.count > 2 && text[0] == 0x30 && text[1] | 0x20 == 0x78
        if isHexadecimal { text = UnsafeRawBufferPointer(rebasing: text.dropFirst(2)) }
        guard !text.isEmpty else { return nil }
        var magnitude: UInt64 = 0
        for byte in text {
            guard let digit = byte.digit(isHexadecimal: isHexadecimal) else { return nil }
            let (shifted, isLarge) = magnitude.multipliedReportingOverflow(by: isHexadecimal ? 16 : 10)
            let (sum, isLarger) = shifted.addingReportingOverflow(UInt64(digit))
            guard !isLarge, !isLarger else { return nil }
            magnitude = sum
        }
        guard isNegative else { return PropertyListInteger(magnitude) }
        guard magnitude <= Int64.min.magnitude else { return nil }
        return PropertyListInteger(Int64(truncatingIfNeeded: 0 &- magnitude))
    }

    /// Decimal, or one of the names of infinity and of what is not a number, as Foundation accepts it; white space may also follow.
    static func real(_ text: UnsafeRawBufferPointer) -> Double? {
        let text = trimmed(text)
        guard let first = text.first else { return nil }
        let sign = first == 0x2B || first == 0x2D ? 1 : 0
        if sign < text.count, text[sign] | 0x20 >= 0x61 {
            let name = String(decoding: text.prefix(10), as: UTF8.self).lowercased()
            switch name {
            case "nan": return .nan
            case "inf", "+inf", "infinity", "+infinity": return .infinity
            case "-inf", "-infinity": return -.infinity
            default: return nil
            }
        }
        // `Double` would also take hexadecimal.
        for byte in text where !(0x30...0x39 ~= byte || byte == 0x2E || byte == 0x2B || byte == 0x2D || byte | 0x20 == 0x65) {
            return nil
        }
        return Double(String(decoding: text, as: UTF8.self))
    }

    /// `YYYY-MM-DDThh:mm:ssZ`, and years that Foundation writes: with a sign, or of up to 9 digits.
    static func date(_ text: UnsafeRawBufferPointer) -> CalendarDate? {
        let shape: StaticString = "-00-00T00:00:00Z"
        let yearSize = text.count - shape.utf8CodeUnitCount
        guard yearSize > 0 else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: text[yearSize...])
        for (byte, expected) in zip(rest, UnsafeBufferPointer(start: shape.utf8Start, count: shape.utf8CodeUnitCount)) {
            guard expected == 0x30 ? 0x30...0x39 ~= byte : byte == expected else { return nil }
        }
        let isNegative = text[0] == 0x2D
        let digits = text[..<yearSize].dropFirst(isNegative ? 1 : 0)
        guard 1...9 ~= digits.count, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        let year = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        func pair(_ place: Int) -> Int { Int(rest[place] - 0x30) * 10 + Int(rest[place + 1] - 0x30) }
        return CalendarDate(
            year: isNegative ? -year : year, month: pair(1), day: pair(4), hour: pair(7), minute: pair(10), second: pair(13))
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var range = 0..<text.count
        while let first = range.first, XMLDocument.isSpace(text[first]) { range = first + 1..<range.upperBound }
        while let last = range.last, XMLDocument.isSpace(text[last]) { range = range.lowerBound..<last }
        return UnsafeRawBufferPointer(rebasing: text[range])
    }
}
