import Foundation

/// Base64, as it stands in `<data>`: in lines, with white space anywhere.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// For each byte its value, or one of the two below.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
        for byte in [0x20, 0x0A, 0x09, 0x0D] { values[byte] = space }
        return values
    }()
    private static let invalid: UInt8 = 0xFF
    private static let space: UInt8 = 0xFE

    /// The data, or nothing if the text is cut short or holds anything else.
    static func decode(_ text: UnsafeRawBufferPointer) -> Data? {
        let values = values
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
            } else if value != space {
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
        return Data(output)
    }

    /// Appends the text of a few bytes, which make one line.
    static func append(_ bytes: Slice<UnsafeRawBufferPointer>, to output: inout ByteSink) {
        let alphabet = alphabet
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let count = min(3, bytes.endIndex - place)
            let second = count > 1 ? UInt32(bytes[place + 1]) : 0
            let third = count > 2 ? UInt32(bytes[place + 2]) : 0
            let bits = UInt32(bytes[place]) << 16 | second << 8 | third
            output.append(alphabet[Int(bits >> 18)])
            output.append(alphabet[Int(bits >> 12 & 63)])
            output.append(count > 1 ? alphabet[Int(bits >> 6 & 63)] : 0x3D)
            output.append(count > 2 ? alphabet[Int(bits & 63)] : 0x3D)
            place += 3
        }
    }
}
