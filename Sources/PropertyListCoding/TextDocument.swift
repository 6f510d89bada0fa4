import FoundationSubset

/// A property list as text, in XML or JSON: from its bytes to UTF-8, and which of the two it is.
enum TextDocument {
    /// Decodes a document that is not a binary property list.
    static func read(_ bytes: ByteView) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
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
    ) throws(PropertyListError) -> (PropertyListValue, PropertyListFormat) {
        guard markSize < bytes.count else { throw PropertyListError(offset: markSize, reason: "there is nothing but a byte order mark") }
        // Bytes of another format are hardly valid text, and the format says more.
        if encoding == .utf8 || encoding == .ascii { _ = try format(of: bytes, from: markSize) }
        guard let text = try encoding.utf8(of: bytes[markSize..<bytes.count], at: markSize) else {
            return try value(of: bytes, from: markSize)
        }
        return try text.withUnsafeBufferPointer { (elements) throws(PropertyListError) in
            let buffer = UnsafeRawBufferPointer(elements)
            guard let view = ByteView(buffer) else { throw PropertyListError(offset: markSize, reason: "there is no text") }
            do throws(PropertyListError) {
                return try value(of: view, from: 0)
            } catch {
                let offset = error.offset.map { encoding.offset(ofUTF8: $0, in: buffer, markSize: markSize) }
                throw PropertyListError(offset: offset, reason: error.reason)
            }
        }
    }

    private static func value(
        of text: ByteView, from start: Int
    ) throws(PropertyListError) -> (PropertyListValue, PropertyListFormat) {
        let format = try format(of: text, from: start)
        if format == .json {
            var reader = JSONReader(text, from: start)
            return (try reader.read(), format)
        }
        var reader = XMLReader(text, from: start)
        return (try reader.read(), format)
    }

    /// The text after edits of the dictionary at its root; nil if it has to be written anew, for example because it is not UTF-8.
    static func text(
        of bytes: ByteView, after edits: [String: PropertyListValue?], of entries: [String: PropertyListValue]
    ) throws(PropertyListError) -> Data? {
        let (encoding, markSize) = try TextEncoding.detect(in: bytes)
        guard encoding == .utf8 || encoding == .ascii, markSize < bytes.count else { return nil }
        // The readers rely on it.
        _ = try encoding.utf8(of: bytes[markSize..<bytes.count], at: markSize)
        return try format(of: bytes, from: markSize) == .json
            ? JSONEditor.text(of: bytes, from: markSize, after: edits, of: entries)
            : XMLEditor.text(of: bytes, from: markSize, after: edits, of: entries)
    }
}

// MARK: - The format

extension TextDocument {
    /// The format that the beginning of a text looks like.
    ///
    /// - Throws: ``PropertyListError`` that names the format of other text.
    private static func format(of bytes: ByteView, from start: Int) throws(PropertyListError) -> PropertyListFormat {
        var reader = JSONReader(bytes, from: start)
        while reader.next?.isXMLSpace == true { reader.offset += 1 }
        let first = reader.offset
        guard let byte = reader.next else { throw PropertyListError(offset: start, reason: "there is nothing but white space") }
        switch (byte, first + 1 < bytes.count ? bytes[first + 1] : 0) {
        case (0x3C, 0x30...0x39), (0x3C, 0x20), (0x3C, 0x3E): throw oldStyle(first)
        case (0x3C, _): return .xml
        case (0x2F, 0x2F), (0x2F, 0x2A): try reader.skipSpace()
        default: break
        }
        switch reader.next {
        case 0x5B?: return .json
        case 0x7B?:
            guard isJSONObject(reader) else { throw neither(reader.offset) }
            return .json
        case nil: throw oldStyle(first)
        case 0x22?, 0x28?: throw oldStyle(reader.offset)
        default:
            throw PropertyListError(offset: reader.offset, reason: "the bytes are neither a binary, XML nor JSON property list")
        }
    }

    /// Whether a `{` is followed by `}`, or by a quoted name and a colon.
    private static func isJSONObject(_ reader: JSONReader) -> Bool {
        var reader = reader
        reader.offset += 1
        do throws(PropertyListError) {
            try reader.skipSpace()
            if reader.next == 0x7D { return true }
            guard reader.next == 0x22 else { return false }
            try reader.skipValue()
            try reader.skipColon()
            return true
        } catch {
            return false
        }
    }

    private static func oldStyle(_ offset: Int) -> PropertyListError {
        PropertyListError(
            offset: offset,
            reason: "this looks like an old-style (OpenStep) property list, which is not supported; "
                + "convert it with `plutil -convert xml1`")
    }

    private static func neither(_ offset: Int) -> PropertyListError {
        PropertyListError(
            offset: offset,
            reason: "this is not JSON, in which a name in quotes and a colon follow {, but looks like an old-style (OpenStep) property "
                + "list, which is not supported; convert it with `plutil -convert xml1`")
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

extension TextEncoding {
    /// Detects the encoding of a document by a byte order mark, by the zeros around its first character, or by the XML declaration.
    fileprivate static func detect(in bytes: ByteView) throws(PropertyListError) -> (encoding: TextEncoding, markSize: Int) {
        if bytes.has("\u{FEFF}", at: 0) { return (.utf8, 3) }
        let start = (0..<4).map { $0 < bytes.count ? Int(bytes[$0]) : -1 }
        switch (start[0], start[1], start[2], start[3]) {
        case (0, 0, 0xFE, 0xFF): return (.utf32(isBigEndian: true), 4)
        case (0xFF, 0xFE, 0, 0): return (.utf32(isBigEndian: false), 4)
        case (0xFE, 0xFF, _, _): return (.utf16(isBigEndian: true), 2)
        case (0xFF, 0xFE, _, _): return (.utf16(isBigEndian: false), 2)
        case (0, 0, 0, 0x3C), (0, 0, 0, 0x7B): return (.utf32(isBigEndian: true), 0)
        case (0x3C, 0, 0, 0), (0x7B, 0, 0, 0): return (.utf32(isBigEndian: false), 0)
        case (0, 0x3C, _, _), (0, 0x7B, _, _): return (.utf16(isBigEndian: true), 0)
        case (0x3C, 0, _, _), (0x7B, 0, _, _): return (.utf16(isBigEndian: false), 0)
        default: return (try declared(in: bytes), 0)
        }
    }

    /// The encoding that the XML declaration names; UTF-8 if there is none.
    private static func declared(in bytes: ByteView) throws(PropertyListError) -> TextEncoding {
        guard bytes.has("<?xml", at: 0), let end = bytes.firstIndex(of: 0x3E, from: 0) else { return .utf8 }
        var index = 5
        while index < end, !bytes.has("encoding", at: index) { index += 1 }
        guard index < end, let open = bytes.firstIndex(of: 0x22, or: 0x27, from: index), open < end else { return .utf8 }
        guard let close = bytes.firstIndex(of: bytes[open], from: open + 1), close < end else { return .utf8 }
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
