extension XMLScanner {
    /// The text of an element: a part of the document as it is, or what references and CDATA sections made of it.
    enum Text {
        case plain(Range<Int>)
        case built([UInt8])
    }

    /// Reads the text and the closing tag of an element of which the opening tag was read.
    mutating func text(of tag: XMLTag) throws(PropertyListError) -> Text {
        guard !tag.isEmpty else { return .plain(place..<place) }
        let start = place
        guard let end = bytes.first(0x3C, or: 0x26, from: place) else { throw ended("inside <\(tag.element.name)>") }
        let text: Text
        if bytes[end] == 0x3C, end + 1 < bytes.count, bytes[end + 1] == 0x2F {
            text = .plain(start..<end)
            place = end
        } else {
            text = .built(try builtText(of: tag))
        }
        let close = try self.tag()
        guard close.isClosing, close.element == tag.element else {
            throw PropertyListError(offset: close.offset, reason: "a tag inside <\(tag.element.name)>, which holds text only")
        }
        return text
    }

    private mutating func builtText(of tag: XMLTag) throws(PropertyListError) -> [UInt8] {
        var output: [UInt8] = []
        while let special = bytes.first(0x3C, or: 0x26, from: place) {
            output.append(contentsOf: bytes[place..<special])
            place = special
            if bytes[special] == 0x26 {
                try appendReference(to: &output)
            } else if bytes.has("<![CDATA[", at: special) {
                let start = special + 9
                try skip(past: "]]>", from: start, "inside a CDATA section")
                output.append(contentsOf: bytes[start..<place - 3])
            } else if !(try skipInstruction()) {
                return output
            }
        }
        throw ended("inside <\(tag.element.name)>")
    }

    private mutating func appendReference(to output: inout [UInt8]) throws(PropertyListError) {
        let start = place
        if bytes.has("&#", at: start) { return try appendCharacterReference(to: &output) }
        let entities: [(StaticString, UInt8)] = [
            ("&amp;", 0x26), ("&lt;", 0x3C), ("&gt;", 0x3E), ("&quot;", 0x22), ("&apos;", 0x27),
        ]
        for (name, byte) in entities where bytes.has(name, at: start) {
            output.append(byte)
            place = start + name.utf8CodeUnitCount
            return
        }
        throw PropertyListError(offset: start, reason: "an entity other than &amp; &lt; &gt; &quot; and &apos;")
    }

    private mutating func appendCharacterReference(to output: inout [UInt8]) throws(PropertyListError) {
        let start = place
        let isHexadecimal = bytes.has("&#x", at: start)
        let first = start + (isHexadecimal ? 3 : 2)
        place = first
        var value: UInt32 = 0
        while place < bytes.count, let digit = bytes[place].digit(isHexadecimal: isHexadecimal) {
            // Stays above every scalar once it is, however many digits follow.
            value = min(value * (isHexadecimal ? 16 : 10) + UInt32(digit), 0x110000)
            place += 1
        }
        guard place > first, place < bytes.count, bytes[place] == 0x3B, let scalar = Unicode.Scalar(value) else {
            throw PropertyListError(offset: start, reason: "a character reference that names no character")
        }
        place += 1
        output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

extension UInt8 {
    /// The value of a decimal or hexadecimal digit.
    func digit(isHexadecimal: Bool) -> UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46 where isHexadecimal: self - 0x41 + 10
        case 0x61...0x66 where isHexadecimal: self - 0x61 + 10
        default: nil
        }
    }
}
