import Foundation

extension ByteSink {
    /// Appends an object that is not a container, and returns a hash of it.
    mutating func put(leaf: PropertyListValue, _ hash: ByteHash) -> UInt32 {
        switch leaf {
        case .string(let string): return string.withBytes { put(utf8: $0, isASCII: $0.isASCII, hash) }
        case .data(let data): return data.withUnsafeBytes { put(marker: 0x40, $0, hash) }
        case .integer(let integer): return put(integer, hash)
        case .real(let real): return put(marker: 0x23, real.bitPattern, size: 8, hash)
        case .boolean(let boolean):
            append(boolean ? 0x09 : 0x08)
            return hash(of: 0, marker: boolean ? 0x09 : 0x08)
        case .date(let date): return put(marker: 0x33, date.timeIntervalSinceReferenceDate.bitPattern, size: 8, hash)
        case .uid(let uid): return put(marker: 0x80 | UInt8(uid.fewestBytes - 1), uid, size: uid.fewestBytes, hash)
        case .array, .dictionary: return 0
        }
    }

    /// Appends text and returns a hash of it: as ASCII where it is, as big-endian UTF-16 where it is not.
    @inline(__always)
    mutating func put(utf8 text: UnsafeRawBufferPointer, isASCII: Bool, _ hash: ByteHash) -> UInt32 {
        if isASCII { return put(marker: 0x50, text, hash) }
        putUTF16(of: String(decoding: text, as: UTF8.self))
        return hash(of: text, marker: 0x60)
    }

    @inline(never)
    private mutating func putUTF16(of string: String) {
        put(marker: 0x60, count: string.utf16.count)
        for unit in string.utf16 { append(UInt64(unit), size: 2) }
    }

    /// Appends a marker with a count, and so many bytes.
    @inline(__always)
    private mutating func put(marker: UInt8, _ bytes: UnsafeRawBufferPointer, _ hash: ByteHash) -> UInt32 {
        if bytes.count < 0xF {
            append(marker | UInt8(bytes.count), bytes)
        } else {
            put(marker: marker, count: bytes.count)
            append(bytes)
        }
        return hash(of: bytes, marker: marker)
    }

    /// Appends the marker of an object that has a count.
    mutating func put(marker: UInt8, count: Int) {
        if count < 0xF {
            append(marker | UInt8(count))
        } else {
            append(marker | 0xF)
            let size = UInt64(count).fewestBytes
            append(0x10 | UInt8(size.trailingZeroBitCount), UInt64(count), size: size)
        }
    }

    /// Appends a marker and a number.
    @inline(__always)
    private mutating func put(marker: UInt8, _ bits: UInt64, size: Int, _ hash: ByteHash) -> UInt32 {
        append(marker, bits, size: size)
        return hash(of: bits, marker: marker)
    }

    /// Appends an integer as Foundation does: without a sign in 1, 2 or 4 bytes, with one in 8, and beyond that in 16.
    @inline(__always)
    private mutating func put(_ integer: PropertyListInteger, _ hash: ByteHash) -> UInt32 {
        if integer.isNegative || integer.bits <= Int64.max {
            let size = integer.isNegative ? 8 : integer.bits.fewestBytes
            return put(marker: 0x10 | UInt8(size.trailingZeroBitCount), integer.bits, size: size, hash)
        }
        append(0x14, 0, size: 8)
        append(integer.bits, size: 8)
        return hash(of: integer.bits, marker: 0x14)
    }
}

extension UInt64 {
    /// Whether 1, 2, 4 or 8 bytes hold the number.
    @inline(__always)
    var fewestBytes: Int {
        // Sums, not a choice: sizes come in no order that a processor could guess.
        1 << ((self > 0xFF ? 1 : 0) + (self > 0xFFFF ? 1 : 0) + (self > 0xFFFF_FFFF ? 1 : 0))
    }
}
