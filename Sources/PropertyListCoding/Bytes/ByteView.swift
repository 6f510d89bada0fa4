import FoundationSubset

/// A read-only view of bytes in which every access is checked, in release builds too.
///
/// The memory must outlive the view.
struct ByteView {
    private let start: UnsafeRawPointer
    let count: Int

    /// Creates a view of a buffer, or returns nil if the buffer is empty.
    init?(_ buffer: UnsafeRawBufferPointer) {
        guard let start = buffer.baseAddress, !buffer.isEmpty else { return nil }
        (self.start, count) = (start, buffer.count)
    }

    subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < count)
        return start.load(fromByteOffset: offset, as: UInt8.self)
    }

    subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
    }

    /// A big-endian integer of 1 to 8 bytes. At least 8 bytes have to follow the offset, whatever the size.
    func integer(at offset: Int, size: Int) -> UInt64 {
        precondition(size >= 1 && size <= 8)
        return word(at: offset).bigEndian &>> UInt64(64 - 8 * size)
    }

    /// Big-endian integers of one size, one after the other. At least 8 bytes have to follow the start of the last one.
    func integers(at offset: Int, size: Int, count: Int) -> PackedIntegers {
        precondition(size >= 1 && size <= 8 && count >= 0)
        let byteCount = count * size + 8 - size
        precondition(offset >= 0 && offset <= self.count && byteCount <= self.count - offset)
        return PackedIntegers(start: start + offset, size: size, count: count, offset: offset)
    }

    /// A string of up to 15 ASCII bytes, or nil if one of them is not ASCII. At least 15 bytes have to follow the offset.
    ///
    /// Strings of that size need no allocation. If they are decoded like longer ones, binary.parse takes 1.1 times as long.
    func shortASCII(count: Int, at offset: Int) -> String? {
        // Bytes 0 to 7 and 7 to 14, with zeros after the end of the text.
        let low = word(at: offset) & .mask(bytes: count)
        let high = word(at: offset + 7) & .mask(bytes: count - 7)
        guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return nil }
        return String(unsafeUninitializedCapacity: 15) { buffer in
            let text = UnsafeMutableRawBufferPointer(buffer)
            text.storeBytes(of: low, as: UInt64.self)
            text.storeBytes(of: high, toByteOffset: 7, as: UInt64.self)
            return count
        }
    }

    /// The 8 bytes at an offset, in memory order.
    private func word(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count - 8)
        return start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    func has(_ text: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, offset <= count, text.utf8CodeUnitCount <= count - offset else { return false }
        return self[offset..<offset + text.utf8CodeUnitCount].elementsEqual(
            UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The offset of the first quotation mark, backslash or control character, at or after an offset; the end if there is none.
    ///
    /// Eight bytes at a time: byte by byte, json.parse takes 1.3 times as long.
    func endOfPlainText(from offset: Int) -> Int {
        buffer.firstIndex(from: offset) { $0.bytesEqual(to: 0x22) | $0.bytesEqual(to: 0x5C) | $0.bytesBelow(0x20) }
    }

    /// The offset of the first byte of a value, at or after an offset.
    func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
        let index = buffer.firstIndex(from: offset) { $0.bytesEqual(to: byte) }
        return index < count ? index : nil
    }

    /// The offset of the first of two bytes, at or after an offset.
    func firstIndex(of one: UInt8, or other: UInt8, from offset: Int) -> Int? {
        let index = buffer.firstIndex(from: offset) { $0.bytesEqual(to: one) | $0.bytesEqual(to: other) }
        return index < count ? index : nil
    }

    private var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}

/// Big-endian integers of one size, one after the other: their bounds are checked once, and each takes one load.
/// Like the view they come from, they must not outlive the memory.
struct PackedIntegers {
    private let start: UnsafeRawPointer
    private let size: Int
    private let shift: UInt64
    let count: Int
    /// The offset of the first integer in the view.
    let offset: Int

    fileprivate init(start: UnsafeRawPointer, size: Int, count: Int, offset: Int) {
        (self.start, self.size, self.count, self.offset) = (start, size, count, offset)
        shift = UInt64(64 - 8 * size)
    }

    subscript(index: Int) -> UInt64 {
        precondition(index >= 0 && index < count)
        // One load and a shift for every size cost less than a branch on the size.
        return UInt64(bigEndian: start.loadUnaligned(fromByteOffset: index &* size, as: UInt64.self)) &>> shift
    }

    func offset(of index: Int) -> Int {
        offset + index * size
    }
}

extension UInt64 {
    /// The highest bit of each byte that equals another one, up to the lowest one; above it, others may be set.
    @inline(__always)
    func bytesEqual(to byte: UInt8) -> UInt64 {
        (self ^ UInt64(byte) &* 0x0101_0101_0101_0101).bytesBelow(1)
    }

    /// The highest bit of each byte that is less than a limit of at most 128, up to the lowest one; above it, others may be set.
    @inline(__always)
    func bytesBelow(_ limit: UInt64) -> UInt64 {
        (self &- 0x0101_0101_0101_0101 &* limit) & ~self & 0x8080_8080_8080_8080
    }

    /// A mask of the lowest bytes: empty for a negative number of bytes, full for more than 8.
    fileprivate static func mask(bytes: Int) -> UInt64 {
        bytes >= 8 ? .max : ~(.max << UInt64(8 * Swift.max(bytes, 0)))
    }
}

extension UnsafeRawBufferPointer {
    /// The index of the first byte, at or after another one, that a closure finds in words of 8 bytes; the end if there is none.
    ///
    /// - Parameter find: returns the highest bit of each byte that it finds, up to the lowest one; it is called for bytes of zero after
    ///   the end.
    @inline(__always)
    func firstIndex(from start: Int, _ find: (UInt64) -> UInt64) -> Int {
        precondition(start >= 0)
        var index = start
        while index + 8 <= count {
            let found = find(loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian)
            if found != 0 { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        guard index < count else { return count }
        let found = find(word(at: index))
        return found == 0 ? count : Swift.min(index + found.trailingZeroBitCount / 8, count)
    }

    /// The 8 bytes at an index up to the end, after which zeros follow; the first of them lowest.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        if index + 8 <= count { return loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian }
        return lastWord >> UInt64(8 * (Swift.min(count, 8) - (count - index)))
    }

    // Inlined: binary.write takes 1.01 times as long without.
    /// The last 8 bytes, the first of them lowest; if there are fewer, zeros follow.
    ///
    /// Of fewer, some are read twice, which is faster than reading them one by one.
    @inline(__always)
    var lastWord: UInt64 {
        if count >= 8 { return loadUnaligned(fromByteOffset: count - 8, as: UInt64.self).littleEndian }
        if count >= 4 {
            let last = UInt64(loadUnaligned(fromByteOffset: count - 4, as: UInt32.self).littleEndian)
            return UInt64(loadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian) | last << UInt64(8 * (count - 4))
        }
        guard count > 0 else { return 0 }
        let middle = count / 2
        return UInt64(self[0]) | UInt64(self[middle]) << UInt64(8 * middle) | UInt64(self[count - 1]) << UInt64(8 * (count - 1))
    }

    /// Whether another buffer has the same bytes at an offset.
    func isRepeated(in other: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        precondition(offset >= 0 && offset <= other.count)
        guard count <= other.count - offset else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart + offset, count) == 0
    }

    // Inlined: binary.write takes 1.01 times as long without.
    /// The length of the common prefix of both buffers, at most `limit`.
    @inline(__always)
    func commonPrefixLength(with other: UnsafeRawBufferPointer, limit: Int = .max) -> Int {
        let limit = Swift.min(limit, count, other.count)
        var length = 0
        while length + 8 <= limit {
            let difference =
                loadUnaligned(fromByteOffset: length, as: UInt64.self) ^ other.loadUnaligned(fromByteOffset: length, as: UInt64.self)
            if difference != 0 { return length + difference.littleEndian.trailingZeroBitCount / 8 }
            length += 8
        }
        while length < limit, self[length] == other[length] { length += 1 }
        return length
    }

    func commonSuffixLength(with other: UnsafeRawBufferPointer) -> Int {
        let limit = Swift.min(count, other.count)
        var length = 0
        while length + 8 <= limit,
            loadUnaligned(fromByteOffset: count - length - 8, as: UInt64.self)
                == other.loadUnaligned(fromByteOffset: other.count - length - 8, as: UInt64.self)
        {
            length += 8
        }
        while length < limit, self[count - length - 1] == other[other.count - length - 1] { length += 1 }
        return length
    }
}

extension Data {
    /// Calls a closure with the bytes; `withUnsafeBytes` does not keep the type of its error.
    func withBytes<Success, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        try withUnsafeBytes { buffer in Result { () throws(Failure) in try body(buffer) } }.get()
    }
}
