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
                throw PropertyListError(offset: start + text.endOfASCII(), reason: "the text is not ASCII, as the XML declaration says")
            }
            return nil
        case .latin1:
            return Array(String(decoding: text.lazy.map { UInt16($0) }, as: UTF16.self).utf8)
        case .utf16(let isBigEndian):
            let units = UTF16Text(bytes: text, isBigEndian: isBigEndian)
            if let offset = text.count % 2 == 0 ? units.firstInvalid : text.count - 1 {
                throw PropertyListError(offset: start + offset, reason: "the text is not valid UTF-16")
            }
            return [UInt8](unsafeUninitializedCapacity: units.utf8Count) { output, count in count = units.write(to: output) }
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

/// UTF-16 in either byte order, to be converted to UTF-8.
struct UTF16Text {
    let bytes: UnsafeRawBufferPointer
    let isBigEndian: Bool

    private var count: Int { bytes.count / 2 }

    private func unit(_ index: Int) -> UInt16 {
        let unit = bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
        return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
    }

    /// The byte offset of the first surrogate that is not part of a pair, or nil if the text is valid.
    var firstInvalid: Int? {
        var index = 0
        while index < count {
            let first = unit(index)
            if first & 0xF800 == 0xD800 {
                guard UTF16.isLeadSurrogate(first), index + 1 < count, UTF16.isTrailSurrogate(unit(index + 1)) else { return index * 2 }
                index += 1
            }
            index += 1
        }
        return nil
    }

    /// The number of bytes that a valid text takes as UTF-8.
    var utf8Count: Int {
        var size = 0
        for index in 0..<count {
            let unit = unit(index)
            // Each surrogate counts for two of the four bytes of its pair.
            size += unit < 0x80 ? 1 : unit < 0x800 || unit & 0xF800 == 0xD800 ? 2 : 3
        }
        return size
    }

    /// Writes a valid text as UTF-8 to memory that is large enough, and returns the number of bytes.
    func write(to output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var size = 0
        var index = 0
        while index < count {
            var scalar = UInt32(unit(index))
            index += 1
            if scalar & 0xF800 == 0xD800, index < count {
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + UInt32(unit(index)) & 0x3FF
                index += 1
            }
            size = output.putUTF8(scalar, at: size)
        }
        return size
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// Writes a scalar as UTF-8 at an index, and returns the index after it.
    fileprivate func putUTF8(_ scalar: UInt32, at index: Int) -> Int {
        let size = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
        precondition(index >= 0 && size <= count - index)
        switch size {
        case 1:
            self[index] = UInt8(truncatingIfNeeded: scalar)
        case 2:
            self[index] = UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6)
            self[index + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        case 3:
            self[index] = UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12)
            self[index + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F)
            self[index + 2] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        default:
            self[index] = UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
            self[index + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F)
            self[index + 2] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F)
            self[index + 3] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        }
        return index + size
    }
}

extension UnsafeRawBufferPointer {
    /// The end of the run of ASCII that begins at an offset.
    func endOfASCII(from offset: Int = 0) -> Int {
        var end = offset
        while end + 8 <= count, loadUnaligned(fromByteOffset: end, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { end += 8 }
        while end < count, self[end] < 0x80 { end += 1 }
        return end
    }

    var isASCII: Bool {
        var union = lastBytes
        var offset = 0
        while offset + 8 < count {
            union |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return union & 0x8080_8080_8080_8080 == 0
    }

    /// The offset of the first byte that is not part of valid UTF-8.
    fileprivate func firstInvalidUTF8() -> Int? {
        var offset = endOfASCII()
        while offset < count {
            var parser = Unicode.UTF8.ForwardParser()
            var bytes = self[offset...].makeIterator()
            guard case .valid(let scalar) = parser.parseScalar(from: &bytes) else { return offset }
            offset = endOfASCII(from: offset + scalar.count)
        }
        return nil
    }
}

extension String {
    /// Calls a closure with the UTF-8 of the string.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        // A string bridged from Objective-C has no UTF-8 storage.
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Whether two strings have the same UTF-8; `==` compares them normalized.
    func hasSameBytes(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in left.count == right.count && left.isRepeated(in: right, at: 0) }
        }
    }
}
