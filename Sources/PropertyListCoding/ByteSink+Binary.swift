import Foundation

extension ByteSink {
    /// Appends an object that is not a container.
    mutating func put(leaf: PropertyListValue) {
        switch leaf {
        case .string(let string):
            string.withBytes { put(utf8: $0) }
        case .data(let data):
            put(marker: 0x40, count: data.count)
            data.withUnsafeBytes { append($0) }
        case .integer(let integer): put(integer)
        case .real(let real): put(0x23, real.bitPattern)
        case .boolean(let boolean): append(boolean ? 0x09 : 0x08)
        case .date(let date): put(0x33, date.timeIntervalSinceReferenceDate.bitPattern)
        case .uid(let uid):
            append(0x80 | UInt8(uid.fewestBytes - 1))
            append(uid, size: uid.fewestBytes)
        case .array, .dictionary: break
        }
    }

    /// Appends text: as ASCII where it is, as big-endian UTF-16 where it is not.
    mutating func put(utf8 text: UnsafeRawBufferPointer) {
        guard text.isASCII else { return putUTF16(of: String(decoding: text, as: UTF8.self)) }
        put(marker: 0x50, count: text.count)
        append(text)
    }

    private mutating func putUTF16(of string: String) {
        put(marker: 0x60, count: string.utf16.count)
        for unit in string.utf16 { append(UInt64(unit), size: 2) }
    }

    /// Appends the marker of an object that has a count.
    mutating func put(marker: UInt8, count: Int) {
        if count < 0xF {
            append(marker | UInt8(count))
        } else {
            append(marker | 0xF)
            put(PropertyListInteger(UInt64(count)))
        }
    }

    /// Appends a marker and 8 bytes.
    private mutating func put(_ marker: UInt8, _ bits: UInt64) {
        append(marker)
        append(bits, size: 8)
    }

    /// Appends an integer as Foundation does: without a sign in 1, 2 or 4 bytes, with one in 8, and beyond that in 16.
    private mutating func put(_ integer: PropertyListInteger) {
        if let signed: Int64 = integer.value() {
            let bits = UInt64(bitPattern: signed)
            let size = signed < 0 ? 8 : bits.fewestBytes
            append(0x10 | UInt8(size.trailingZeroBitCount))
            append(bits, size: size)
        } else if let unsigned: UInt64 = integer.value() {
            append(0x14)
            append(0, size: 8)
            append(unsigned, size: 8)
        }
    }
}

extension UInt64 {
    /// Whether 1, 2, 4 or 8 bytes hold the number.
    var fewestBytes: Int {
        self <= 0xFF ? 1 : self <= 0xFFFF ? 2 : self <= 0xFFFF_FFFF ? 4 : 8
    }
}
