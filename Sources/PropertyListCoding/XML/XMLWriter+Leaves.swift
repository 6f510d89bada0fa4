import FoundationSubset

// Text, numbers, dates and data.
extension XMLWriter {
    @inline(__always)
    mutating func put(_ text: StaticString) {
        output.append(text)
    }

    mutating func put(key: String) throws(PropertyListError) {
        put("<key>")
        try put(escaped: key)
        put("</key>")
    }

    mutating func put(string: String) throws(PropertyListError) {
        put("<string>")
        try put(escaped: string)
        put("</string>")
    }

    mutating func put(_ integer: PropertyListInteger) {
        put("<integer>")
        output.append(decimal: integer)
        put("</integer>")
    }

    mutating func put(_ real: Double) {
        put("<real>")
        let text = real.isNaN ? "nan" : real.isInfinite ? (real < 0 ? "-infinity" : "+infinity") : real.description
        text.withBytes { output.append($0) }
        put("</real>")
    }

    mutating func put(uid: UInt64, depth: Int) throws(PropertyListError) {
        // It reads as a dictionary, so the same limit of depth applies to it.
        guard depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
        put("<dict>")
        beginLine(depth: depth + 1)
        put("<key>CF$UID</key>")
        beginLine(depth: depth + 1)
        put(PropertyListInteger(uid))
        beginLine(depth: depth)
        put("</dict>")
    }

    mutating func put(_ data: Data, depth: Int) {
        put("<data>")
        // Foundation's lines: at most 8 tabs, and 76 columns less 8 for each tab.
        let tabs = min(depth, 8)
        let lineSize = (76 - 8 * tabs) / 4 * 3
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: lineSize) {
                beginLine(depth: min(depth, max(8, layout.depth)))
                output.append(base64: bytes[start..<min(start + lineSize, bytes.count)])
            }
        }
        beginLine(depth: depth)
        put("</data>")
    }

    mutating func put(_ date: Date) throws(PropertyListError) {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard let whole = Int64(exactly: seconds), Self.writableSeconds.contains(whole) else {
            throw PropertyListError(offset: nil, reason: "XML cannot hold a date outside the years 0 to 9999")
        }
        let date = CalendarDate(secondsSinceReference: whole)
        put("<date>")
        put(date.year / 100)
        put(date.year % 100)
        for (separator, number) in [
            (0x2D, date.month), (0x2D, date.day), (0x54, date.hour), (0x3A, date.minute), (0x3A, date.second),
        ] as [(UInt8, Int)] {
            output.append(separator)
            put(number)
        }
        put("Z</date>")
    }

    /// The seconds from 0000-01-01 00:00:00 to 9999-12-31 23:59:59: `Date.distantPast` is in the year 0.
    private static let writableSeconds: ClosedRange<Int64> = -63_145_526_400...252_423_993_599

    private mutating func put(_ number: Int) {
        output.append(0x30 + UInt8(number / 10))
        output.append(0x30 + UInt8(number % 10))
    }

    private mutating func put(escaped text: String) throws(PropertyListError) {
        let refused = text.withBytes { text -> Int? in
            var (start, index) = (0, text.endOfPlainXML(from: 0))
            // Without a reference it would be read as a byte order mark.
            if index == 0, text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
                put("&#xFEFF;")
                start = 3
                index = text.endOfPlainXML(from: start)
            }
            while index < text.count {
                let escape: StaticString?
                switch text[index] {
                case 0x26: escape = "&amp;"
                case 0x3C: escape = "&lt;"
                case 0x3E: escape = "&gt;"
                // Unescaped, a reader would treat it as the end of a line.
                case 0x0D: escape = "&#13;"
                case 0x09, 0x0A: escape = nil
                case 0xEF:
                    // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
                    if text[index + 1] == 0xBF, text[index + 2] >= 0xBE { return Int(text[index + 2]) - 0xBE + 0xFFFE }
                    escape = nil
                default: return Int(text[index])
                }
                if let escape {
                    output.append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
                    put(escape)
                    start = index + 1
                }
                index = text.endOfPlainXML(from: index + 1)
            }
            output.append(UnsafeRawBufferPointer(rebasing: text[start...]))
            return nil
        }
        if let refused {
            let name = "U+" + refused.padded(to: 4, radix: 16).uppercased()
            throw PropertyListError(offset: nil, reason: "XML cannot hold the character \(name); write the value as binary")
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The index of the first byte, at or after another one, that XML may not contain as it is; the end if there is none.
    ///
    /// Byte by byte, peers.libplist.xml.write.ascii takes 10 times as long.
    fileprivate func endOfPlainXML(from start: Int) -> Int {
        firstIndex(from: start) { word in
            word.bytesBelow(0x20) | word.bytesEqual(to: 0x26) | word.bytesEqual(to: 0x3C) | word.bytesEqual(to: 0x3E)
                | word.bytesEqual(to: 0xEF)
        }
    }
}
