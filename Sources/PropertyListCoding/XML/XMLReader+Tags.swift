/// The elements of a property list; the raw value holds the name's bytes, the last of them lowest.
enum XMLElement: UInt64 {
    case plist = 0x70_6C69_7374
    case dictionary = 0x6469_6374
    case array = 0x61_7272_6179
    case key = 0x6B_6579
    case string = 0x7374_7269_6E67
    case integer = 0x69_6E74_6567_6572
    case real = 0x7265_616C
    case yes = 0x7472_7565
    case no = 0x66_616C_7365
    case date = 0x6461_7465
    case data = 0x6461_7461

    /// The name between the angle brackets.
    var name: String {
        withUnsafeBytes(of: rawValue.bigEndian) { String(decoding: $0.drop { $0 == 0 }, as: UTF8.self) }
    }
}

/// `<dict>`, `</dict>` or `<dict/>`.
struct XMLTag {
    let element: XMLElement
    let isClosing: Bool
    let isEmpty: Bool
    let offset: Int
}

// Tags.
extension XMLReader {
    var isAtEnd: Bool { offset >= bytes.count }

    /// The error for a document that ends too early.
    func ended(_ where: String) -> PropertyListError {
        PropertyListError(offset: bytes.count, reason: "the document ends \(`where`)")
    }

    mutating func readTag() throws(PropertyListError) -> XMLTag {
        let start = offset
        guard offset < bytes.count else { throw ended("where a tag should begin") }
        guard bytes[offset] == 0x3C else {
            throw PropertyListError(offset: offset, reason: "text where a tag should begin")
        }
        offset += 1
        let isClosing = offset < bytes.count && bytes[offset] == 0x2F
        if isClosing { offset += 1 }
        let nameStart = offset
        var packed: UInt64 = 0
        while offset < bytes.count, bytes[offset] != 0x3E, bytes[offset] != 0x2F, !bytes[offset].isXMLSpace {
            packed = packed << 8 | UInt64(bytes[offset])
            offset += 1
        }
        let nameEnd = offset
        // Foundation treats the first `>` as the end even inside quotes.
        guard let end = bytes.firstIndex(of: 0x3E, from: offset) else { throw ended("inside a tag") }
        offset = end + 1
        // A leading zero would not be visible in the packed name.
        guard nameEnd - nameStart <= 7, bytes[nameStart] != 0, let element = XMLElement(rawValue: packed) else {
            throw PropertyListError(offset: start, reason: unknown(nameStart..<nameEnd))
        }
        let isEmpty = !isClosing && bytes[end - 1] == 0x2F
        return XMLTag(element: element, isClosing: isClosing, isEmpty: isEmpty, offset: start)
    }

    private func unknown(_ name: Range<Int>) -> String {
        let shown = String(decoding: bytes[name.prefix(32)], as: UTF8.self)
        switch shown {
        case "": return "a `<` that begins no tag"
        case "set", "null": return "a \(shown), which a property list cannot hold"
        default: return "an unknown element <\(shown)>"
        }
    }
}

// Between tags.
extension XMLReader {
    /// Skips white space, comments and processing instructions.
    mutating func skipBetweenTags() throws(PropertyListError) {
        while offset < bytes.count {
            if bytes[offset].isXMLSpace {
                offset += 1
            } else if !(try skipInstruction()) {
                return
            }
        }
    }

    /// Skips a comment or a processing instruction, and returns whether there was one.
    private mutating func skipInstruction() throws(PropertyListError) -> Bool {
        guard offset + 1 < bytes.count, bytes[offset] == 0x3C else { return false }
        if bytes[offset + 1] == 0x3F {
            try skip(past: "?>", from: offset + 2, "inside a processing instruction")
        } else if bytes[offset + 1] == 0x21, bytes.has("<!--", at: offset) {
            try skip(past: "-->", from: offset + 4, "inside a comment")
        } else {
            return false
        }
        return true
    }

    /// Moves past the next occurrence of a text that ends in `>`.
    private mutating func skip(past end: StaticString, from start: Int, _ where: String) throws(PropertyListError) {
        let size = end.utf8CodeUnitCount
        var search = start
        while let close = bytes.firstIndex(of: 0x3E, from: search) {
            if close + 1 - size >= start, bytes.has(end, at: close + 1 - size) {
                offset = close + 1
                return
            }
            search = close + 1
        }
        throw ended(`where`)
    }

    /// Skips the document type, and returns whether there was one. Its entities are not read, so none is expanded.
    mutating func skipDocumentType() throws(PropertyListError) -> Bool {
        guard bytes.has("<!DOCTYPE", at: offset) else { return false }
        // Foundation treats the first `>` as the end even inside quotes.
        guard var end = bytes.firstIndex(of: 0x3E, or: 0x5B, from: offset) else { throw ended("inside the document type") }
        if bytes[end] == 0x5B {
            offset = end + 1
            try skipInternalSubset()
            guard let close = bytes.firstIndex(of: 0x3E, from: offset) else { throw ended("inside the document type") }
            end = close
        }
        offset = end + 1
        return true
    }

    /// Skips declarations up to the `]` that is not in quotes or a comment.
    private mutating func skipInternalSubset() throws(PropertyListError) {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x5D:
                offset += 1
                return
            case 0x22, 0x27:
                guard let close = bytes.firstIndex(of: bytes[offset], from: offset + 1) else {
                    throw ended("inside the document type")
                }
                offset = close + 1
            default:
                if !(try skipInstruction()) { offset += 1 }
            }
        }
        throw ended("inside the document type")
    }
}

// Texts.
extension XMLReader {
    /// Reads the text and the closing tag of an element whose opening tag was read, and passes the text to a closure.
    mutating func text<Result>(of tag: XMLTag, _ body: (UnsafeRawBufferPointer) -> Result) throws(PropertyListError) -> Result {
        guard !tag.isEmpty else { return body(bytes[offset..<offset]) }
        let start = offset
        guard let end = bytes.firstIndex(of: 0x3C, or: 0x26, from: offset) else { throw ended("inside <\(tag.element.name)>") }
        if bytes[end] == 0x3C, end + 1 < bytes.count, bytes[end + 1] == 0x2F {
            // Nothing to expand: the text is a part of the document.
            offset = end
            try close(tag)
            return body(bytes[start..<end])
        }
        let text = try expandedText(of: tag)
        try close(tag)
        return text.withUnsafeBytes(body)
    }

    private mutating func close(_ tag: XMLTag) throws(PropertyListError) {
        let close = try readTag()
        guard close.isClosing, close.element == tag.element else {
            throw PropertyListError(offset: close.offset, reason: "a tag inside <\(tag.element.name)>, which holds text only")
        }
    }

    /// Expands references and CDATA sections.
    private mutating func expandedText(of tag: XMLTag) throws(PropertyListError) -> [UInt8] {
        var output: [UInt8] = []
        while let special = bytes.firstIndex(of: 0x3C, or: 0x26, from: offset) {
            output.append(contentsOf: bytes[offset..<special])
            offset = special
            if bytes[special] == 0x26 {
                try expandReference(to: &output)
            } else if bytes.has("<![CDATA[", at: special) {
                let start = special + 9
                try skip(past: "]]>", from: start, "inside a CDATA section")
                output.append(contentsOf: bytes[start..<offset - 3])
            } else if !(try skipInstruction()) {
                return output
            }
        }
        throw ended("inside <\(tag.element.name)>")
    }

    private mutating func expandReference(to output: inout [UInt8]) throws(PropertyListError) {
        if bytes.has("&#", at: offset) { return try expandCharacterReference(to: &output) }
        let entities: [(StaticString, UInt8)] = [
            ("&amp;", 0x26), ("&lt;", 0x3C), ("&gt;", 0x3E), ("&quot;", 0x22), ("&apos;", 0x27),
        ]
        for (name, byte) in entities where bytes.has(name, at: offset) {
            output.append(byte)
            offset += name.utf8CodeUnitCount
            return
        }
        throw PropertyListError(offset: offset, reason: "an entity other than &amp; &lt; &gt; &quot; and &apos;")
    }

    private mutating func expandCharacterReference(to output: inout [UInt8]) throws(PropertyListError) {
        let start = offset
        let isHexadecimal = bytes.has("&#x", at: start)
        let first = start + (isHexadecimal ? 3 : 2)
        offset = first
        var value: UInt32 = 0
        while offset < bytes.count, let digit = bytes[offset].digit(isHexadecimal: isHexadecimal) {
            // Remains above every scalar, regardless of the number of digits that follow.
            value = min(value * (isHexadecimal ? 16 : 10) + UInt32(digit), 0x110000)
            offset += 1
        }
        guard offset > first, offset < bytes.count, bytes[offset] == 0x3B, let scalar = Unicode.Scalar(value) else {
            throw PropertyListError(offset: start, reason: "a character reference that names no character")
        }
        offset += 1
        output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

extension UInt8 {
    var isXMLSpace: Bool {
        self == 0x20 || self == 0x0A || self == 0x09 || self == 0x0D
    }

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
