import FoundationSubset

/// UTF-16 in either byte order, to be converted to UTF-8.
struct UTF16Text {
    let bytes: UnsafeRawBufferPointer
    let isBigEndian: Bool

    private var count: Int { bytes.count / 2 }

    @inline(__always)
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

    /// The memory that `write(to:)` needs: the largest number of bytes that the text may take as UTF-8, and one after them.
    var maximumUTF8Count: Int { count * 3 + 1 }

    /// Writes the text as UTF-8 to memory of `maximumUTF8Count` bytes, and returns the number of bytes; nil if the text is not valid.
    func write(to output: UnsafeMutableRawBufferPointer) -> Int? {
        precondition(output.count >= maximumUTF8Count)
        var size = 0
        var index = 0
        while index < count {
            let first = UInt32(unit(index))
            index += 1
            if first < 0x800 {
                // One byte or two without a branch, because many scripts mix them, and no processor can predict that.
                let isWide = first >= 0x80
                output[size] = UInt8(truncatingIfNeeded: isWide ? 0xC0 | first >> 6 : first)
                output[size + 1] = UInt8(truncatingIfNeeded: 0x80 | first & 0x3F)
                size += isWide ? 2 : 1
            } else if first & 0xF800 != 0xD800 {
                // Three bytes and a surplus one: byte by byte, peers.libplist.binary.parse.chinese takes 1.25 times as long.
                let bytes = 0x80_80E0 | first >> 12 | first << 2 & 0x3F00 | first << 16 & 0x3F_0000
                output.storeBytes(of: bytes.littleEndian, toByteOffset: size, as: UInt32.self)
                size += 3
            } else {
                guard first < 0xDC00, index < count, UTF16.isTrailSurrogate(unit(index)) else { return nil }
                let scalar = 0x10000 + (first & 0x3FF) << 10 + UInt32(unit(index)) & 0x3FF
                index += 1
                output[size] = UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
                output[size + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F)
                output[size + 2] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F)
                output[size + 3] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
                size += 4
            }
        }
        return size
    }
}

extension String {
    /// Creates a string from a text, or returns nil if the text is not valid.
    init?(_ text: UTF16Text) {
        let string = withUnsafeTemporaryAllocation(byteCount: text.maximumUTF8Count, alignment: 1) { buffer in
            text.write(to: buffer).map { count in
                // Of a unit that is not ASCII, more than one byte is written.
                String(validUTF8: UnsafeRawBufferPointer(rebasing: buffer[..<count]), isASCII: count == text.bytes.count / 2)
            }
        }
        guard let string else { return nil }
        self = string
    }
}

extension OutputBuffer {
    /// Appends valid UTF-8 as big-endian UTF-16, `count` units of it.
    mutating func append(utf16 text: UnsafeRawBufferPointer, count: Int) {
        append(count: count * 2) { text.writeUTF16(to: $0) }
    }
}

extension UnsafeRawBufferPointer {
    /// The number of units that valid UTF-8 takes as UTF-16.
    var utf16Count: Int {
        var units = count
        for offset in stride(from: 0, to: count, by: 8) {
            let word = word(at: offset)
            units += (word & word << 1 & word << 2 & word << 3).highBitCount - (word & ~(word << 1)).highBitCount
        }
        return units
    }

    /// Writes valid UTF-8 as big-endian UTF-16 to memory of exactly the size that it takes.
    fileprivate func writeUTF16(to output: UnsafeMutableRawBufferPointer) {
        var index = 0
        var size = 0
        func put(_ unit: UInt32) {
            precondition(size + 2 <= output.count)
            output.storeBytes(of: UInt16(truncatingIfNeeded: unit).bigEndian, toByteOffset: size, as: UInt16.self)
            size += 2
        }
        /// The bits of the next continuation byte.
        func next() -> UInt32 {
            defer { index += 1 }
            return index < count ? UInt32(self[index] & 0x3F) : 0
        }
        while index < count {
            let first = UInt32(self[index])
            index += 1
            if first < 0xE0 {
                // One byte or two without a branch, as above.
                let isWide = first >= 0x80
                let second = UInt32(self[Swift.min(index, count - 1)] & 0x3F)
                put(isWide ? (first & 0x1F) << 6 | second : first)
                index += isWide ? 1 : 0
            } else if first < 0xF0 {
                put((first & 0xF) << 12 | next() << 6 | next())
            } else {
                let scalar = (first & 7) << 18 | next() << 12 | next() << 6 | next()
                put(0xD7C0 + scalar >> 10)
                put(0xDC00 | scalar & 0x3FF)
            }
        }
    }
}

extension UInt64 {
    /// The number of bytes whose highest bit is set.
    fileprivate var highBitCount: Int {
        // Their sum is the highest byte of the product.
        Int(truncatingIfNeeded: ((self & 0x8080_8080_8080_8080) >> 7 &* 0x0101_0101_0101_0101) >> 56)
    }
}
