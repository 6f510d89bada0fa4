// From the bytes of a document to UTF-8: the encoding, and documents that are not XML.

extension XMLReader {
    /// Decodes a document that is not a binary property list.
    static func read(_ bytes: ByteView) throws(PropertyListError) -> PropertyListValue {
        var (encoding, markSize) = (TextEncoding.utf8, 0)
        do throws(PropertyListError) {
            (encoding, markSize) = try TextEncoding.detect(in: bytes)
            return try read(bytes, in: encoding, markSize: markSize)
        } catch {
            throw error.located(in: bytes, encoding, markSize: markSize)
        }
    }

    private static func read(
        _ bytes: ByteView, in encoding: TextEncoding, markSize: Int
    ) throws(PropertyListError) -> PropertyListValue {
        guard markSize < bytes.count else { throw PropertyListError(offset: markSize, reason: "there is nothing but a byte order mark") }
        if encoding == .utf8 || encoding == .ascii { try requireXML(bytes, from: markSize) }
        guard let text = try encoding.utf8(of: bytes[markSize..<bytes.count], at: markSize) else {
            var reader = XMLReader(bytes, from: markSize)
            return try reader.read()
        }
        let result = text.withUnsafeBytes { buffer in
            Result { () throws(PropertyListError) in
                guard let view = ByteView(buffer) else { throw PropertyListError(offset: markSize, reason: "there is no text") }
                do throws(PropertyListError) {
                    try requireXML(view, from: 0)
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

    /// Throws an error that names the format if the beginning of a document does not look like XML.
    private static func requireXML(_ bytes: ByteView, from start: Int) throws(PropertyListError) {
        var index = start
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        guard index < bytes.count else { throw PropertyListError(offset: start, reason: "there is nothing but white space") }
        let next = index + 1 < bytes.count ? bytes[index + 1] : 0
        switch (bytes[index], next) {
        case (0x3C, 0x30...0x39), (0x3C, 0x20), (0x3C, 0x3E): throw oldStyle(index)
        case (0x3C, _): return
        case (0x5B, _): throw json(index)
        case (0x7B, _): throw isJSONObject(bytes, at: index) ? json(index) : oldStyle(index)
        case (0x21...0x7E, _): throw oldStyle(index)
        default: throw PropertyListError(offset: index, reason: "the bytes are neither a binary nor an XML property list")
        }
    }

    /// Whether a `{` is followed by a quoted name and a colon.
    private static func isJSONObject(_ bytes: ByteView, at start: Int) -> Bool {
        var index = start + 1
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        guard index < bytes.count, bytes[index] == 0x22 else { return false }
        index += 1
        while index < bytes.count, bytes[index] != 0x22 { index += bytes[index] == 0x5C ? 2 : 1 }
        index += 1
        while index < bytes.count, bytes[index].isXMLSpace { index += 1 }
        return index < bytes.count && bytes[index] == 0x3A
    }

    private static func oldStyle(_ offset: Int) -> PropertyListError {
        PropertyListError(
            offset: offset,
            reason: "this looks like an old-style (OpenStep) property list, which is not supported; "
                + "convert it with `plutil -convert xml1`")
    }

    private static func json(_ offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "this looks like JSON, not a property list; convert it with `plutil -convert xml1`")
    }
}

extension PropertyListError {
    /// The same error with the line and the column of its offset.
    fileprivate func located(in bytes: ByteView, _ encoding: TextEncoding, markSize: Int) -> PropertyListError {
        guard let offset, offset >= markSize else { return self }
        let before = bytes[markSize..<offset]
        do throws(PropertyListError) {
            let position = try encoding.utf8(of: before, at: markSize)?.withUnsafeBytes { $0.endPosition } ?? before.endPosition
            return PropertyListError(offset: offset, line: position.line, column: position.column, reason: reason)
        } catch {
            // The bytes before it are not valid in this encoding.
            return self
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The line and the column at which a text in UTF-8 ends, both from 1.
    fileprivate var endPosition: (line: Int, column: Int) {
        var (line, column) = (1, 1)
        for (index, byte) in enumerated() {
            switch byte {
            case 0x0A where index > 0 && self[index - 1] == 0x0D: break
            case 0x0A, 0x0D: (line, column) = (line + 1, 1)
            case 0x80...0xBF: break
            default: column += 1
            }
        }
        return (line, column)
    }
}

extension XMLReader {
    /// The offset at which the text of a document begins whose bytes are its text, in UTF-8 or ASCII; nil for other encodings.
    static func startOfText(in bytes: ByteView) throws(PropertyListError) -> Int? {
        let (encoding, markSize) = try TextEncoding.detect(in: bytes)
        return encoding == .utf8 || encoding == .ascii ? markSize : nil
    }
}

extension TextEncoding {
    /// Detects the encoding of a document by a byte order mark, by the zeros around the first `<`, or by the XML declaration.
    fileprivate static func detect(in bytes: ByteView) throws(PropertyListError) -> (encoding: TextEncoding, markSize: Int) {
        if bytes.has("\u{FEFF}", at: 0) { return (.utf8, 3) }
        let start = (0..<4).map { $0 < bytes.count ? Int(bytes[$0]) : -1 }
        switch (start[0], start[1], start[2], start[3]) {
        case (0, 0, 0xFE, 0xFF): return (.utf32(isBigEndian: true), 4)
        case (0xFF, 0xFE, 0, 0): return (.utf32(isBigEndian: false), 4)
        case (0xFE, 0xFF, _, _): return (.utf16(isBigEndian: true), 2)
        case (0xFF, 0xFE, _, _): return (.utf16(isBigEndian: false), 2)
        case (0, 0, 0, 0x3C): return (.utf32(isBigEndian: true), 0)
        case (0x3C, 0, 0, 0): return (.utf32(isBigEndian: false), 0)
        case (0, 0x3C, _, _): return (.utf16(isBigEndian: true), 0)
        case (0x3C, 0, _, _): return (.utf16(isBigEndian: false), 0)
        default: return (try declared(in: bytes), 0)
        }
    }

    /// The encoding that the XML declaration names; UTF-8 if there is none.
    private static func declared(in bytes: ByteView) throws(PropertyListError) -> TextEncoding {
        guard bytes.has("<?xml", at: 0), let end = bytes.firstIndex(of: 0x3E, or: 0x3E, from: 0) else { return .utf8 }
        var index = 5
        while index < end, !bytes.has("encoding", at: index) { index += 1 }
        guard index < end, let open = bytes.firstIndex(of: 0x22, or: 0x27, from: index), open < end else { return .utf8 }
        guard let close = bytes.firstIndex(of: bytes[open], or: bytes[open], from: open + 1), close < end else { return .utf8 }
        let name = String(decoding: bytes[open + 1..<close], as: UTF8.self)
        switch name.uppercased() {
        case "UTF-8", "UTF8": return .utf8
        case "US-ASCII", "ASCII": return .ascii
        case "ISO-8859-1", "ISO_8859-1", "LATIN1": return .latin1
        case "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE":
            throw PropertyListError(offset: open + 1, reason: "the XML declaration says \(name), but the bytes are not")
        default:
            throw PropertyListError(
                offset: open + 1, reason: "the encoding \(name.debugDescription) is not supported; save the property list as UTF-8")
        }
    }
}
