import Foundation

extension BinaryWriter {
    /// Appends the lowest bytes of a number, the highest of them first.
    mutating func put(_ number: UInt64, size: Int) {
        withUnsafeBytes(of: number.bigEndian) {
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[(8 - size)...]))
        }
    }

    /// Appends a marker and 8 bytes.
    mutating func put(_ marker: UInt8, _ bits: UInt64) {
        output.append(marker)
        put(bits, size: 8)
    }

    mutating func put(uid: UInt64) {
        output.append(0x80 | UInt8(uid.fewestBytes - 1))
        put(uid, size: uid.fewestBytes)
    }

    mutating func put(_ data: Data) {
        put(marker: 0x40, count: data.count)
        data.withUnsafeBytes { output.append(contentsOf: $0) }
    }

    /// Appends the marker of an object that has a count.
    mutating func put(marker: UInt8, count: Int) {
        if count < 0xF {
            output.append(marker | UInt8(count))
        } else {
            output.append(marker | 0xF)
            put(PropertyListInteger(UInt64(count)))
        }
    }

    /// Appends an integer as Foundation does: without a sign in 1, 2 or 4 bytes, with one in 8, and beyond that in 16.
    mutating func put(_ integer: PropertyListInteger) {
        if let signed: Int64 = integer.value() {
            let bits = UInt64(bitPattern: signed)
            let size = signed < 0 ? 8 : bits.fewestBytes
            output.append(0x10 | UInt8(size.trailingZeroBitCount))
            put(bits, size: size)
        } else if let unsigned: UInt64 = integer.value() {
            output.append(0x14)
            put(0, size: 8)
            put(unsigned, size: 8)
        }
    }

    /// Appends text: as ASCII where it is, as big-endian UTF-16 where it is not.
    mutating func put(_ string: String) {
        var string = string
        let isASCII = string.withUTF8 { text in
            guard UnsafeRawBufferPointer(text).isASCII else { return false }
            put(marker: 0x50, count: text.count)
            output.append(contentsOf: text)
            return true
        }
        guard !isASCII else { return }
        put(marker: 0x60, count: string.utf16.count)
        for unit in string.utf16 {
            output.append(UInt8(unit >> 8))
            output.append(UInt8(truncatingIfNeeded: unit))
        }
    }
}

extension UInt64 {
    /// Whether 1, 2, 4 or 8 bytes hold the number.
    var fewestBytes: Int {
        self <= 0xFF ? 1 : self <= 0xFFFF ? 2 : self <= 0xFFFF_FFFF ? 4 : 8
    }
}
