import Foundation

extension XMLWriter {
    /// Writes a text, indented already, in an element.
    mutating func put(_ text: String, as element: StaticString) throws(PropertyListError) {
        open(element)
        try put(escaped: text)
        close(element)
    }

    /// Writes a number, which needs no escapes, in an element.
    mutating func put(number: some CustomStringConvertible, as element: StaticString) {
        open(element)
        number.description.withBytes { output.append($0) }
        close(element)
    }

    private mutating func open(_ element: StaticString) {
        output.append(0x3C)
        put(element)
        output.append(0x3E)
    }

    private mutating func close(_ element: StaticString) {
        put("</" as StaticString)
        put(element)
        put(">\n" as StaticString)
    }

    mutating func put(_ real: Double) {
        open("real")
        let text = real.isNaN ? "nan" : real.isInfinite ? (real < 0 ? "-infinity" : "+infinity") : real.description
        text.withBytes { output.append($0) }
        close("real")
    }

    mutating func put(uid: UInt64, depth: Int) throws(PropertyListError) {
        // It is a dictionary to whoever reads it, so it has to keep within the depth of one.
        guard depth < Bounds.depth else { throw Bounds.tooDeep(at: nil) }
        put("<dict>\n" as StaticString)
        indent(depth + 1)
        put("<key>CF$UID</key>\n" as StaticString)
        indent(depth + 1)
        put(number: uid, as: "integer")
        indent(depth)
        put("</dict>\n" as StaticString)
    }

    mutating func put(_ data: Data, depth: Int) {
        put("<data>\n" as StaticString)
        // Foundation's lines: at most 8 tabs, and 76 columns less 8 for each tab.
        let tabs = min(depth, 8)
        let lineSize = (76 - 8 * tabs) / 4 * 3
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: lineSize) {
                indent(tabs)
                Base64.append(bytes[start..<min(start + lineSize, bytes.count)], to: &output)
                output.append(0x0A)
            }
        }
        indent(depth)
        put("</data>\n" as StaticString)
    }

    mutating func put(_ date: Date) throws(PropertyListError) {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard let whole = Int(exactly: seconds), XMLWriter.writableSeconds.contains(whole) else {
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
        put("Z</date>\n" as StaticString)
    }

    /// From 0001-01-01 00:00:00 to 9999-12-31 23:59:59.
    static let writableSeconds = -63_113_904_000...252_423_993_599

    /// Appends a number below 100 in two digits.
    private mutating func put(_ number: Int) {
        output.append(0x30 + UInt8(number / 10))
        output.append(0x30 + UInt8(number % 10))
    }

    private mutating func put(escaped text: String) throws(PropertyListError) {
        var text = text
        // Without a reference it would be taken for a byte order mark.
        if text.unicodeScalars.first == "\u{FEFF}" {
            put("&#xFEFF;" as StaticString)
            text.unicodeScalars.removeFirst()
        }
        let refused = text.withBytes { text -> Int? in
            var start = 0
            for place in 0..<text.count {
                let byte = text[place]
                guard byte < 0x20 || byte == 0x26 || byte == 0x3C || byte == 0x3E || byte == 0xEF else { continue }
                let escape: StaticString
                switch byte {
                case 0x26: escape = "&amp;"
                case 0x3C: escape = "&lt;"
                case 0x3E: escape = "&gt;"
                // As it is, a reader would take it for the end of a line.
                case 0x0D: escape = "&#13;"
                case 0x09, 0x0A: continue
                case 0xEF:
                    // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
                    guard text[place + 1] == 0xBF, text[place + 2] >= 0xBE else { continue }
                    return Int(text[place + 2]) - 0xBE + 0xFFFE
                default: return Int(byte)
                }
                output.append(UnsafeRawBufferPointer(rebasing: text[start..<place]))
                put(escape)
                start = place + 1
            }
            output.append(UnsafeRawBufferPointer(rebasing: text[start...]))
            return nil
        }
        if let refused {
            let code = String(refused, radix: 16, uppercase: true)
            let name = "U+" + String(repeating: "0", count: 4 - code.count) + code
            throw PropertyListError(offset: nil, reason: "XML cannot hold the character \(name); write the value as binary")
        }
    }
}
