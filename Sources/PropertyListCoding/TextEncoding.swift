/// How the characters of a document are written as bytes.
enum TextEncoding: Equatable {
    case utf8
    case ascii
    case latin1
    case utf16(isBigEndian: Bool)
    case utf32(isBigEndian: Bool)

    /// Recognizes the encoding by a byte order mark, by the zeros around the first `<`, or by the XML declaration.
    static func of(_ bytes: ByteView) throws(PropertyListError) -> (encoding: TextEncoding, markSize: Int) {
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

    private static func declared(in bytes: ByteView) throws(PropertyListError) -> TextEncoding {
        guard bytes.has("<?xml", at: 0), let end = bytes.first(0x3E, or: 0x3E, from: 0) else { return .utf8 }
        var place = 5
        while place < end, !bytes.has("encoding", at: place) { place += 1 }
        guard place < end, let open = bytes.first(0x22, or: 0x27, from: place), open < end else { return .utf8 }
        guard let close = bytes.first(bytes[open], or: bytes[open], from: open + 1), close < end else { return .utf8 }
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

    /// The offset in the bytes of what stands at an offset of their UTF-8.
    func offset(ofUTF8 place: Int, in text: UnsafeRawBufferPointer, markSize: Int) -> Int {
        var offset = markSize
        for byte in text.prefix(place) where byte & 0xC0 != 0x80 {
            switch self {
            case .utf8, .ascii: break
            case .latin1: offset += 1
            case .utf16: offset += byte >= 0xF0 ? 4 : 2
            case .utf32: offset += 4
            }
        }
        return self == .utf8 || self == .ascii ? place : offset
    }
}
