import FoundationSubset

extension XMLReader {
    /// Reads an element that is not a container, or an empty container; returns nil for another container.
    mutating func leaf(_ tag: XMLTag) throws(PropertyListError) -> PropertyListValue? {
        guard !tag.isClosing else {
            throw PropertyListError(offset: tag.offset, reason: "</\(tag.element.name)> closes nothing")
        }
        switch tag.element {
        case .dictionary: return tag.isEmpty ? .dictionary([:]) : nil
        case .array: return tag.isEmpty ? .array([]) : nil
        case .string: return .string(try string(tag))
        case .yes, .no: return .boolean(try boolean(tag))
        case .integer:
            return .integer(try parse(tag, "an integer between Int64.min and UInt64.max") { Self.integer($0) })
        case .real:
            return .real(try parse(tag, "a real") { Self.real($0) })
        case .date:
            return .date(try parse(tag, "a date written YYYY-MM-DDThh:mm:ssZ") { Self.date($0) })
        case .data:
            return .data(try parse(tag, "data written in base64") { Data(base64: $0) })
        case .key: throw PropertyListError(offset: tag.offset, reason: "a key where a value should be")
        case .plist: throw PropertyListError(offset: tag.offset, reason: "a <plist> inside another")
        }
    }

    /// Reads the text of a string or a key.
    mutating func string(_ tag: XMLTag) throws(PropertyListError) -> String {
        try text(of: tag) { String(validUTF8: $0, isASCII: $0.isASCII) }
    }

    private mutating func boolean(_ tag: XMLTag) throws(PropertyListError) -> Bool {
        if !tag.isEmpty {
            try skipBetweenTags()
            let close = try readTag()
            guard close.isClosing, close.element == tag.element else {
                throw PropertyListError(offset: close.offset, reason: "something inside <\(tag.element.name)>")
            }
        }
        return tag.element == .yes
    }

    private mutating func parse<Parsed>(
        _ tag: XMLTag, _ what: String, with parser: (UnsafeRawBufferPointer) -> Parsed?
    ) throws(PropertyListError) -> Parsed {
        let start = offset
        guard let parsed = try text(of: tag, parser) else {
            throw PropertyListError(offset: start, reason: "this is not \(what)")
        }
        return parsed
    }
}

// Numbers and dates, as Foundation accepts them.
extension XMLReader {
    /// Parses an integer: decimal or hexadecimal, with or without a sign, and with white space around it.
    private static func integer(_ text: UnsafeRawBufferPointer) -> PropertyListInteger? {
        var text = trimmed(text)
        let isNegative = text.first == 0x2D
        if isNegative || text.first == 0x2B { text = trimmed(UnsafeRawBufferPointer(rebasing: text.dropFirst())) }
        let isHexadecimal = text.count > 2 && text[0] == 0x30 && text[1] | 0x20 == 0x78
        if isHexadecimal { text = UnsafeRawBufferPointer(rebasing: text.dropFirst(2)) }
        guard !text.isEmpty else { return nil }
        var magnitude: UInt64 = 0
        for byte in text {
            guard let digit = byte.digit(isHexadecimal: isHexadecimal),
                let longer = magnitude.appending(digit, radix: isHexadecimal ? 16 : 10)
            else { return nil }
            magnitude = longer
        }
        return PropertyListInteger(magnitude: magnitude, isNegative: isNegative)
    }

    /// Parses a real: decimal, or a name of infinity or NaN, with white space around it.
    private static func real(_ text: UnsafeRawBufferPointer) -> Double? {
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
        // `Double` would also parse hexadecimal.
        for byte in text where !(0x30...0x39 ~= byte || byte == 0x2E || byte == 0x2B || byte == 0x2D || byte | 0x20 == 0x65) {
            return nil
        }
        return Double(String(decoding: text, as: UTF8.self))
    }

    /// Parses a date: `YYYY-MM-DDThh:mm:ssZ`, and the years that Foundation writes, with a minus sign or of up to 9 digits.
    private static func date(_ text: UnsafeRawBufferPointer) -> Date? {
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
        func pair(_ index: Int) -> Int { Int(rest[index] - 0x30) * 10 + Int(rest[index + 1] - 0x30) }
        return CalendarDate(
            year: isNegative ? -year : year, month: pair(1), day: pair(4), hour: pair(7), minute: pair(10), second: pair(13)
        ).map { Date(timeIntervalSinceReferenceDate: Double($0.secondsSinceReference)) }
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var range = 0..<text.count
        while let first = range.first, text[first].isXMLSpace { range = first + 1..<range.upperBound }
        while let last = range.last, text[last].isXMLSpace { range = range.lowerBound..<last }
        return UnsafeRawBufferPointer(rebasing: text[range])
    }
}
