import FoundationSubset

extension UnsafeRawBufferPointer {
    /// The end of the ASCII with which the text begins.
    var endOfASCII: Int {
        firstIndex(from: 0) { $0 & 0x8080_8080_8080_8080 }
    }

    var isASCII: Bool {
        var union = lastWord
        // Decides for most texts in other scripts: without, peers.libplist.xml.parse.cyrillic takes 1.2 times as long.
        guard union & 0x8080_8080_8080_8080 == 0 else { return false }
        var offset = 0
        // Shorter texts take as long word by word.
        if count >= 256 { (union, offset) = (union | blocks.union, blocks.end) }
        while offset + 8 < count {
            union |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return union & 0x8080_8080_8080_8080 == 0
    }

    /// The union of the words of the whole blocks of 64 bytes, and their end.
    ///
    /// Word by word, peers.libplist.binary.parse.ascii takes 1.2 times as long.
    private var blocks: (union: UInt64, end: Int) {
        var (union, offset) = (SIMD8<UInt64>(), 0)
        while offset <= count - 64 {
            union |= loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
            offset += 64
        }
        return (union.indices.reduce(0) { $0 | union[$1] }, offset)
    }

    package var isValidUTF8: Bool { isASCII || firstInvalidUTF8() == nil }

    /// The offset of the first byte that is not part of valid UTF-8.
    func firstInvalidUTF8() -> Int? {
        var offset = endOfScalars(from: 0, to: 3)
        if offset >= 3 {
            while offset + 16 <= count, isValidBlock(at: offset) { offset += 16 }
            // The last bytes, as a block that overlaps the one before.
            if offset + 16 > count, count >= 19, isValidBlock(at: count - 16) { offset = count }
            // A scalar may begin in the last valid block and end after it.
            repeat { offset -= 1 } while self[offset] & 0xC0 == 0x80
            offset = endOfScalars(from: offset, to: count)
        }
        return offset < count ? offset : nil
    }

    /// Whether each of 16 bytes may follow the three before it.
    ///
    /// Byte by byte, peers.libplist.xml.parse.cyrillic takes 2.5 times as long. `all`, because operators with a scalar are not specialized:
    /// they take 500 times as long.
    @inline(__always)
    private func isValidBlock(at offset: Int) -> Bool {
        func bytes(_ distance: Int) -> SIMD16<UInt8> { loadUnaligned(fromByteOffset: offset - distance, as: SIMD16<UInt8>.self) }
        func all(_ byte: UInt8) -> SIMD16<UInt8> { SIMD16(repeating: byte) }
        let (byte, first, second, third) = (bytes(0), bytes(1), bytes(2), bytes(3))
        if ((byte | third) .>= all(0x80)).isEmpty { return true }
        let isContinuation = (byte .>= all(0x80)) .& (byte .< all(0xC0))
        let mustContinue = (first .>= all(0xC0)) .| (second .>= all(0xE0)) .| (third .>= all(0xF0))
        let isAfterE0 = (first .== all(0xE0)) .& (byte .< all(0xA0))
        let isAfterED = (first .== all(0xED)) .& (byte .>= all(0xA0))
        let isAfterF0 = (first .== all(0xF0)) .& (byte .< all(0x90))
        let isAfterF4 = (first .== all(0xF4)) .& (byte .>= all(0x90))
        let isNeverValid = ((byte & all(0xFE)) .== all(0xC0)) .| (byte .>= all(0xF5))
        return ((isContinuation .^ mustContinue) .| isAfterE0 .| isAfterED .| isAfterF0 .| isAfterF4 .| isNeverValid).isEmpty
    }

    /// The end of the valid scalars that begin between two offsets.
    private func endOfScalars(from start: Int, to end: Int) -> Int {
        var offset = start
        while offset < Swift.min(end, count), let scalar = scalar(at: offset) { offset += UTF8.width(scalar) }
        return offset
    }

    /// The scalar that begins at an offset; nil if none does that is valid.
    func scalar(at offset: Int) -> Unicode.Scalar? {
        var parser = Unicode.UTF8.ForwardParser()
        var bytes = self[offset...].makeIterator()
        guard case .valid(let scalar) = parser.parseScalar(from: &bytes) else { return nil }
        return UTF8.decode(scalar)
    }
}

extension SIMDMask<SIMD16<Int8>> {
    /// Whether no lane is set. With `any`, validating UTF-8 takes 1.8 times as long.
    fileprivate var isEmpty: Bool { unsafeBitCast(self, to: SIMD2<UInt64>.self) == .zero }
}

extension String {
    /// Creates a string from UTF-8 that is known to be valid, without validating it again.
    ///
    /// The initializer that validates it does so scalar by scalar: with it, peers.libplist.xml.parse.cyrillic takes 6 times as long.
    init(validUTF8 bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            self.init(copying: UTF8Span(unchecked: bytes.assumingMemoryBound(to: UInt8.self).span, isKnownASCII: isASCII))
        } else {
            self.init(decoding: bytes, as: UTF8.self)
        }
    }

    /// Creates a string from UTF-8; nil if it is not valid.
    ///
    /// `init(validating:as:)` takes ten times as long for a short name: it is not specialized.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        let isASCII = bytes.isASCII
        guard isASCII || bytes.firstInvalidUTF8() == nil else { return nil }
        self.init(validUTF8: bytes, isASCII: isASCII)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        // A string bridged from Objective-C has no UTF-8 storage.
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Whether two strings have the same UTF-8; `==` compares them normalized.
    package func hasSameBytes(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in left.count == right.count && left.isRepeated(in: right, at: 0) }
        }
    }
}
