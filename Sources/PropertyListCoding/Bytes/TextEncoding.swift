import FoundationSubset

/// The encoding of a text document, and its conversion to UTF-8.
enum TextEncoding: Equatable {
    case utf8
    case ascii
    case latin1
    case utf16(isBigEndian: Bool)
    case utf32(isBigEndian: Bool)

    /// Converts a text that begins at an offset of a document to UTF-8, or returns nil if it is UTF-8 already.
    ///
    /// - Throws: ``PropertyListError`` with the offset of the first byte that is invalid.
    func utf8(of text: UnsafeRawBufferPointer, at start: Int) throws(PropertyListError) -> [UInt8]? {
        switch self {
        case .utf8:
            if let offset = text.firstInvalidUTF8() {
                throw PropertyListError(offset: start + offset, reason: "the text is not valid UTF-8")
            }
            return nil
        case .ascii:
            guard text.isASCII else {
                throw PropertyListError(offset: start + text.endOfASCII, reason: "the text is not ASCII, as the XML declaration says")
            }
            return nil
        case .latin1:
            return Array(String(decoding: text.lazy.map { UInt16($0) }, as: UTF16.self).utf8)
        case .utf16(let isBigEndian):
            let units = UTF16Text(bytes: text, isBigEndian: isBigEndian)
            if let offset = text.count % 2 == 0 ? units.firstInvalid : text.count - 1 {
                throw PropertyListError(offset: start + offset, reason: "the text is not valid UTF-16")
            }
            return [UInt8](unsafeUninitializedCapacity: units.maximumUTF8Count) { output, count in
                count = units.write(to: UnsafeMutableRawBufferPointer(output)) ?? 0
            }
        case .utf32(let isBigEndian):
            let scalars = stride(from: 0, to: text.count - text.count % 4, by: 4).map { offset in
                let unit = text.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                return Unicode.Scalar(isBigEndian ? UInt32(bigEndian: unit) : UInt32(littleEndian: unit))
            }
            let invalid = scalars.firstIndex(of: nil) ?? scalars.count
            guard invalid * 4 == text.count else {
                throw PropertyListError(offset: start + invalid * 4, reason: "the text is not valid UTF-32")
            }
            return Array(String(String.UnicodeScalarView(scalars.compactMap { $0 })).utf8)
        }
    }

    /// Converts an offset in the UTF-8 of a text to the offset in the document, in which the text follows a byte order mark.
    func offset(ofUTF8 index: Int, in text: UnsafeRawBufferPointer, markSize: Int) -> Int {
        var offset = markSize
        for byte in text.prefix(index) where byte & 0xC0 != 0x80 {
            switch self {
            case .utf8, .ascii: break
            case .latin1: offset += 1
            case .utf16: offset += byte >= 0xF0 ? 4 : 2
            case .utf32: offset += 4
            }
        }
        return self == .utf8 || self == .ascii ? index : offset
    }
}
