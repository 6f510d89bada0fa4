/// Goes through the tags and texts of valid UTF-8.
struct XMLScanner {
    let bytes: ByteView
    var place: Int

    var isAtEnd: Bool { place >= bytes.count }

    /// The error that the document ends too early.
    func ended(_ where: String) -> PropertyListError {
        PropertyListError(offset: bytes.count, reason: "the document ends \(`where`)")
    }

    /// Skips white space, comments and processing instructions.
    mutating func skipBetweenTags() throws(PropertyListError) {
        while place < bytes.count {
            if XMLDocument.isSpace(bytes[place]) {
                place += 1
            } else if !(try skipInstruction()) {
                return
            }
        }
    }

    /// Skips a comment or a processing instruction if one stands here.
    mutating func skipInstruction() throws(PropertyListError) -> Bool {
        guard place + 1 < bytes.count, bytes[place] == 0x3C else { return false }
        if bytes[place + 1] == 0x3F {
            try skip(past: "?>", from: place + 2, "inside a processing instruction")
        } else if bytes[place + 1] == 0x21, bytes.has("<!--", at: place) {
            try skip(past: "-->", from: place + 4, "inside a comment")
        } else {
            return false
        }
        return true
    }

    /// Goes on behind the next occurrence of a text of which the last character is `>`.
    mutating func skip(past end: StaticString, from start: Int, _ where: String) throws(PropertyListError) {
        let size = end.utf8CodeUnitCount
        var search = start
        while let close = bytes.first(0x3E, or: 0x3E, from: search) {
            if close + 1 - size >= start, bytes.has(end, at: close + 1 - size) {
                place = close + 1
                return
            }
            search = close + 1
        }
        throw ended(`where`)
    }

    /// Skips the document type, if there is one: its entities are never looked at, so none is ever expanded.
    mutating func skipDocumentType() throws(PropertyListError) {
        guard bytes.has("<!DOCTYPE", at: place) else { return }
        // Foundation takes the first `>` for the end even inside quotes.
        guard var end = bytes.first(0x3E, or: 0x5B, from: place) else { throw ended("inside the document type") }
        if bytes[end] == 0x5B {
            place = end + 1
            try skipInternalSubset()
            guard let close = bytes.first(0x3E, or: 0x3E, from: place) else { throw ended("inside the document type") }
            end = close
        }
        place = end + 1
    }

    /// Skips declarations up to the `]` that is not in quotes or a comment.
    private mutating func skipInternalSubset() throws(PropertyListError) {
        while place < bytes.count {
            switch bytes[place] {
            case 0x5D:
                place += 1
                return
            case 0x22, 0x27:
                guard let close = bytes.first(bytes[place], or: bytes[place], from: place + 1) else {
                    throw ended("inside the document type")
                }
                place = close + 1
            default:
                if !(try skipInstruction()) { place += 1 }
            }
        }
        throw ended("inside the document type")
    }

    /// Reads the tag that stands here.
    mutating func tag() throws(PropertyListError) -> XMLTag {
        let start = place
        guard place < bytes.count else { throw ended("where a tag should begin") }
        guard bytes[place] == 0x3C else {
            throw PropertyListError(offset: place, reason: "text where a tag should begin")
        }
        place += 1
        let isClosing = place < bytes.count && bytes[place] == 0x2F
        if isClosing { place += 1 }
        let nameStart = place
        var packed: UInt64 = 0
        while place < bytes.count, isName(bytes[place]) {
            packed = packed << 8 | UInt64(bytes[place])
            place += 1
        }
        let nameEnd = place
        // Foundation takes the first `>` for the end even inside quotes.
        guard let end = bytes.first(0x3E, or: 0x3E, from: place) else { throw ended("inside a tag") }
        place = end + 1
        // A zero in front would leave no trace in the packed name.
        guard nameEnd - nameStart <= 7, bytes[nameStart] != 0, let element = XMLElement(rawValue: packed) else {
            throw PropertyListError(offset: start, reason: unknown(nameStart..<nameEnd))
        }
        let isEmpty = !isClosing && bytes[end - 1] == 0x2F
        return XMLTag(element: element, isClosing: isClosing, isEmpty: isEmpty, offset: start)
    }

    private func isName(_ byte: UInt8) -> Bool {
        byte != 0x3E && byte != 0x2F && !XMLDocument.isSpace(byte)
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
