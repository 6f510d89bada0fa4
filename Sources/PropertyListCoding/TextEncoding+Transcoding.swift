extension TextEncoding {
    /// The document as UTF-8, or nothing if that is what it is already; either way it is known to be valid.
    func utf8(of bytes: ByteView, from start: Int) throws(PropertyListError) -> [UInt8]? {
        let rest = bytes[start..<bytes.count]
        switch self {
        case .utf8:
            if let place = rest.firstInvalidUTF8() {
                throw PropertyListError(offset: start + place, reason: "the text is not valid UTF-8")
            }
            return nil
        case .ascii:
            guard rest.isASCII else {
                throw PropertyListError(offset: start + rest.endOfASCII(), reason: "the text is not ASCII, as the XML declaration says")
            }
            return nil
        case .latin1:
            let size = rest.reduce(0) { $0 + ($1 < 0x80 ? 1 : 2) }
            return [UInt8](unsafeUninitializedCapacity: size) { output, count in
                for byte in rest { count = output.putUTF8(UInt32(byte), at: count) }
            }
        case .utf16(let isBigEndian):
            let text = UTF16Text(bytes: rest, isBigEndian: isBigEndian)
            switch rest.count % 2 == 0 ? text.utf8Count : .invalid(rest.count - 1) {
            case .valid(let size):
                return [UInt8](unsafeUninitializedCapacity: size) { output, count in count = text.write(to: output) }
            case .invalid(let place):
                throw PropertyListError(offset: start + place, reason: "the text is not valid UTF-16")
            }
        case .utf32(let isBigEndian):
            return try Self.utf8(ofUTF32: rest, isBigEndian: isBigEndian, start: start)
        }
    }

    private static func utf8(
        ofUTF32 bytes: UnsafeRawBufferPointer, isBigEndian: Bool, start: Int
    ) throws(PropertyListError) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count / 4)
        for place in stride(from: 0, to: bytes.count, by: 4) {
            guard place + 4 <= bytes.count else {
                throw PropertyListError(offset: start + place, reason: "the text is not valid UTF-32")
            }
            let unit = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
            guard let scalar = Unicode.Scalar(isBigEndian ? UInt32(bigEndian: unit) : UInt32(littleEndian: unit)) else {
                throw PropertyListError(offset: start + place, reason: "the text is not valid UTF-32")
            }
            output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
        return output
    }
}

extension UnsafeRawBufferPointer {
    /// Where the first byte stands that does not belong to valid UTF-8.
    func firstInvalidUTF8() -> Int? {
        var place = endOfASCII()
        while place < count {
            let size = sizeOfUTF8(at: place)
            guard size > 0 else { return place }
            place = endOfASCII(from: place + size)
        }
        return nil
    }

    /// How many bytes the scalar takes that begins at an offset, not ASCII; 0 if it is invalid.
    private func sizeOfUTF8(at place: Int) -> Int {
        let size: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch self[place] {
        case 0xC2...0xDF: size = 2
        case 0xE0: (size, second) = (3, 0xA0...0xBF)
        case 0xED: (size, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: size = 3
        case 0xF0: (size, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: size = 4
        case 0xF4: (size, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard size <= count - place, second ~= self[place + 1] else { return 0 }
        for next in place + 2..<Swift.max(place + 2, place + size) where self[next] & 0xC0 != 0x80 { return 0 }
        return size
    }
}
