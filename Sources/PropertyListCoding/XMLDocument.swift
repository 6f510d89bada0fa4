/// A document that is not binary: turns it into UTF-8 and reads it as XML, or says what else it looks like.
enum XMLDocument {
    static func read(_ bytes: ByteView) throws(PropertyListError) -> PropertyListValue {
        let (encoding, markSize) = try TextEncoding.of(bytes)
        guard markSize < bytes.count else { throw PropertyListError(offset: markSize, reason: "there is nothing but a byte order mark") }
        if encoding == .utf8 || encoding == .ascii { try Kind.check(bytes, from: markSize) }
        guard let text = try encoding.utf8(of: bytes, from: markSize) else {
            var reader = XMLReader(bytes, from: markSize)
            return try reader.read()
        }
        let result = text.withUnsafeBytes { buffer in
            Result { () throws(PropertyListError) in
                guard let view = ByteView(buffer) else { throw PropertyListError(offset: markSize, reason: "there is no text") }
                do throws(PropertyListError) {
                    try Kind.check(view, from: 0)
                    var reader = XMLReader(view, from: 0)
                    return try reader.read()
                } catch {
                    let offset = error.offset.map { encoding.offset(ofUTF8: $0, in: buffer, markSize: markSize) }
                    throw PropertyListError(offset: offset, reason: error.reason)
                }
            }
        }
        return try result.get()
    }
}

extension XMLDocument {
    /// What a document looks like, judged by how it begins.
    enum Kind {
        /// Goes on if the document looks like XML.
        static func check(_ bytes: ByteView, from start: Int) throws(PropertyListError) {
            var place = start
            while place < bytes.count, isSpace(bytes[place]) { place += 1 }
            guard place < bytes.count else { throw PropertyListError(offset: start, reason: "there is nothing but white space") }
            let next = place + 1 < bytes.count ? bytes[place + 1] : 0
            switch (bytes[place], next) {
            case (0x3C, 0x30...0x39), (0x3C, 0x20), (0x3C, 0x3E): throw oldStyle(place)
            case (0x3C, _): return
            case (0x5B, _): throw json(place)
            case (0x7B, _): throw isJSONObject(bytes, at: place) ? json(place) : oldStyle(place)
            case (0x21...0x7E, _): throw oldStyle(place)
            default: throw PropertyListError(offset: place, reason: "the bytes are neither a binary nor an XML property list")
            }
        }

        /// Whether a `{` is followed by a quoted name and a colon.
        private static func isJSONObject(_ bytes: ByteView, at start: Int) -> Bool {
            var place = start + 1
            while place < bytes.count, isSpace(bytes[place]) { place += 1 }
            guard place < bytes.count, bytes[place] == 0x22 else { return false }
            place += 1
            while place < bytes.count, bytes[place] != 0x22 { place += bytes[place] == 0x5C ? 2 : 1 }
            place += 1
            while place < bytes.count, isSpace(bytes[place]) { place += 1 }
            return place < bytes.count && bytes[place] == 0x3A
        }

        private static func oldStyle(_ offset: Int) -> PropertyListError {
            PropertyListError(
                offset: offset,
                reason: "this looks like an old-style (OpenStep) property list, which is not supported; "
                    + "convert it with `plutil -convert xml1`")
        }

        private static func json(_ offset: Int) -> PropertyListError {
            PropertyListError(
                offset: offset, reason: "this looks like JSON, not a property list; convert it with `plutil -convert xml1`")
        }
    }

    /// What XML calls white space.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D
    }
}
