import FoundationSubset

// Text, numbers, dates and data.
extension XMLWriter {
    /// Appends text without escaping it.
    mutating func put(_ text: StaticString) {
        output.append(text)
    }

    /// Appends a text and a line ending.
    mutating func put(line text: StaticString) {
        put(text)
        endLine()
    }

    private mutating func endLine() {
        for byte in layout.lineEnding { output.append(byte) }
    }

    mutating func indent(_ depth: Int) {
        let size = layout.margin.count + layout.unit.count * min(depth - layout.depth, Self.maximumTabs)
        indentation.withUnsafeBytes { output.append(UnsafeRawBufferPointer(rebasing: $0[..<size])) }
    }

    private mutating func open(_ element: StaticString) {
        output.append(0x3C)
        put(element)
        output.append(0x3E)
    }

    private mutating func close(_ element: StaticString) {
        put("</" as StaticString)
        put(element)
        put(line: ">")
    }

    mutating func put(_ text: String, as element: StaticString) throws(PropertyListError) {
        open(element)
        try put(escaped: text)
        close(element)
    }

    mutating func put(_ integer: PropertyListInteger) {
        open("integer")
        output.append(decimal: integer)
        close("integer")
    }

    mutating func put(_ real: Double) {
        open("real")
        let text = real.isNaN ? "nan" : real.isInfinite ? (real < 0 ? "-infinity" : "+infinity") : real.description
        text.withBytes { output.append($0) }
        close("real")
    }

    mutating func put(uid: UInt64, depth: Int) throws(PropertyListError) {
        // It reads as a dictionary, so the same limit of depth applies to it.
        guard depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
        put(line: "<dict>")
        indent(depth + 1)
        put(line: "<key>CF$UID</key>")
        indent(depth + 1)
        put(PropertyListInteger(uid))
        indent(depth)
        put(line: "</dict>")
    }

    mutating func put(_ data: Data, depth: Int) {
        put(line: "<data>")
        // Foundation's lines: at most 8 tabs, and 76 columns less 8 for each tab.
        let tabs = min(depth, 8)
        let lineSize = (76 - 8 * tabs) / 4 * 3
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: lineSize) {
                indent(min(depth, max(8, layout.depth)))
                output.append(base64: bytes[start..<min(start + lineSize, bytes.count)])
                endLine()
            }
        }
        indent(depth)
        put(line: "</data>")
    }

    mutating func put(_ date: Date) throws(PropertyListError) {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard let whole = Int64(exactly: seconds), Self.writableSeconds.contains(whole) else {
            throw PropertyListError(offset: nil, reason: "XML cannot hold a date outside the years 1 to 9999")
        }
        let date = CalendarDate(secondsSinceReference: whole)
        put("<date>" as StaticString)
        put(date.year / 100)
        put(date.year % 100)
        for (separator, number) in [
            (0x2D, date.month), (0x2D, date.day), (0x54, date.hour), (0x3A, date.minute), (0x3A, date.second),
        ] as [(UInt8, Int)] {
            output.append(separator)
            put(number)
        }
        put(line: "Z</date>")
    }

    /// The seconds from 0001-01-01 00:00:00 to 9999-12-31 23:59:59.
    private static let writableSeconds: ClosedRange<Int64> = -63_113_904_000...252_423_993_599

    /// Writes a number below 100 in two digits.
    private mutating func put(_ number: Int) {
        output.append(0x30 + UInt8(number / 10))
        output.append(0x30 + UInt8(number % 10))
    }

    private mutating func put(escaped text: String) throws(PropertyListError) {
        var text = text
        // Without a reference it would be read as a byte order mark.
        if text.unicodeScalars.first == "\u{FEFF}" {
            put("&#xFEFF;" as StaticString)
            text.unicodeScalars.removeFirst()
        }
        let refused = text.withBytes { text -> Int? in
            var (start, index) = (0, text.endOfPlainXML(from: 0))
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
