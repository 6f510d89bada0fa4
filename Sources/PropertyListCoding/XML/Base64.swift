import FoundationSubset

private let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

/// The value of each byte as a digit, or one of the two below.
private let base64Values: [UInt8] = {
    var values = [UInt8](repeating: invalidByte, count: 256)
    for (value, byte) in base64Digits.enumerated() { values[Int(byte)] = UInt8(value) }
    for byte in [0x20, 0x0A, 0x09, 0x0D] { values[byte] = spaceByte }
    return values
}()
private let invalidByte: UInt8 = 0xFF
private let spaceByte: UInt8 = 0xFE

extension Data {
    /// Decodes base64 as in `<data>`, with white space anywhere; returns nil if it is incomplete or has other characters.
    init?(base64 text: UnsafeRawBufferPointer) {
        let values = base64Values
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 4 * 3 + 3)
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for byte in text {
            let value = values[Int(byte)]
            if value < 64, padding == 0 {
                bits = bits << 6 | UInt32(value)
                digits += 1
                if digits == 4 {
                    output.append(UInt8(truncatingIfNeeded: bits >> 16))
                    output.append(UInt8(truncatingIfNeeded: bits >> 8))
                    output.append(UInt8(truncatingIfNeeded: bits))
                    digits = 0
                }
            } else if byte == 0x3D {
                padding += 1
            } else if value != spaceByte {
                return nil
            }
        }
        switch (digits, padding) {
        case (0, 0):
            break
        case (2, 2):
            output.append(UInt8(truncatingIfNeeded: bits >> 4))
        case (3, 1):
            output.append(UInt8(truncatingIfNeeded: bits >> 10))
            output.append(UInt8(truncatingIfNeeded: bits >> 2))
        default:
            return nil
        }
        self.init(output)
    }
}

extension OutputBuffer {
    /// Appends base64, without line breaks.
    mutating func append(base64 bytes: Slice<UnsafeRawBufferPointer>) {
        let digits = base64Digits
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let count = min(3, bytes.endIndex - index)
            let second = count > 1 ? UInt32(bytes[index + 1]) : 0
            let third = count > 2 ? UInt32(bytes[index + 2]) : 0
            let bits = UInt32(bytes[index]) << 16 | second << 8 | third
            append(digits[Int(bits >> 18)])
            append(digits[Int(bits >> 12 & 63)])
            append(count > 1 ? digits[Int(bits >> 6 & 63)] : 0x3D)
            append(count > 2 ? digits[Int(bits & 63)] : 0x3D)
            index += 3
        }
    }
}
