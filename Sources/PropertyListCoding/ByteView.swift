/// Bytes to read from: every access is checked, in release builds too.
///
/// Whoever makes one sees to it that the memory outlives it.
struct ByteView {
    private let start: UnsafeRawPointer
    let count: Int

    /// Looks at the bytes, or at nothing if there are none.
    init?(_ buffer: UnsafeRawBufferPointer) {
        guard let start = buffer.baseAddress, !buffer.isEmpty else { return nil }
        (self.start, count) = (start, buffer.count)
    }

    subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < count)
        return start.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// The bytes of a range, to hand to something that copies them.
    subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
    }

    /// A big-endian number of 1 to 8 bytes, behind which others stand, so that there are 8.
    @inline(__always)
    func number(at offset: Int, size: Int) -> UInt64 {
        precondition(size >= 1 && size <= 8)
        return word(at: offset).bigEndian &>> UInt64(64 - 8 * size)
    }

    /// Where so many bytes begin.
    func start(of size: Int, at offset: Int) -> UnsafeRawPointer {
        precondition(offset >= 0 && size >= 0 && offset <= count && size <= count - offset)
        return start + offset
    }

    /// The 8 bytes at an offset, as the machine orders them.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count - 8)
        return start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    /// Whether the bytes at an offset are those of the text.
    func has(_ text: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, offset <= count, text.utf8CodeUnitCount <= count - offset else { return false }
        return self[offset..<offset + text.utf8CodeUnitCount].elementsEqual(
            UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Where the first byte of two stands at or behind an offset.
    func first(_ one: UInt8, or other: UInt8, from offset: Int) -> Int? {
        precondition(offset >= 0)
        var place = offset
        while place < count {
            let byte = start.load(fromByteOffset: place, as: UInt8.self)
            if byte == one || byte == other { return place }
            place += 1
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// Where the run of ASCII at an offset ends.
    func endOfASCII(from offset: Int = 0) -> Int {
        var place = offset
        while place + 8 <= count, loadUnaligned(fromByteOffset: place, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
            place += 8
        }
        while place < count, self[place] < 0x80 { place += 1 }
        return place
    }

    var isASCII: Bool {
        var found = lastBytes
        var place = 0
        while place + 8 < count {
            found |= loadUnaligned(fromByteOffset: place, as: UInt64.self)
            place += 8
        }
        return found & 0x8080_8080_8080_8080 == 0
    }

    /// The last 8 bytes, or all if they are fewer: some of them twice, which costs less than to look at them one by one.
    @inline(__always)
    var lastBytes: UInt64 {
        if count >= 8 { return loadUnaligned(fromByteOffset: count - 8, as: UInt64.self) }
        if count >= 4 {
            let first = loadUnaligned(fromByteOffset: 0, as: UInt32.self)
            return UInt64(first) << 32 | UInt64(loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
        }
        guard count > 0 else { return 0 }
        return UInt64(self[0]) << 16 | UInt64(self[count / 2]) << 8 | UInt64(self[count - 1])
    }
}
