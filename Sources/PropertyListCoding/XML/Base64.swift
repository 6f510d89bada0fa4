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
        var output = OutputBuffer(capacity: text.count / 4 * 3 + 3)
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        var index = 0
        while index < text.count {
            if digits == 0, padding == 0 { index = output.append(base64Groups: text, from: index) }
            guard index < text.count else { break }
            let byte = text[index]
            let value = base64Values[Int(byte)]
            index += 1
            if value < 64, padding == 0 {
                bits = bits << 6 | UInt32(value)
                digits += 1
                if digits == 4 {
                    output.append(UInt64(bits & 0xFF_FFFF), size: 3)
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
        self = output.data()
    }
}

extension OutputBuffer {
    /// Decodes groups of four digits as far as nothing else is between them, and returns the index after them.
    fileprivate mutating func append(base64Groups text: UnsafeRawBufferPointer, from start: Int) -> Int {
        base64Values.withUnsafeBufferPointer { values in
            var index = start
            while index + 4 <= text.count {
                let digits = (
                    UInt32(values[Int(text[index])]), UInt32(values[Int(text[index + 1])]), UInt32(values[Int(text[index + 2])]),
                    UInt32(values[Int(text[index + 3])])
                )
                guard digits.0 | digits.1 | digits.2 | digits.3 < 64 else { break }
                append(UInt64(digits.0 << 18 | digits.1 << 12 | digits.2 << 6 | digits.3), size: 3)
                index += 4
            }
            return index
        }
    }

    /// Appends base64, without line breaks.
    ///
    /// Into space that is reserved once: reserved for each group, peers.libplist.xml.write.data takes 1.3 times as long.
    mutating func append(base64 bytes: Slice<UnsafeRawBufferPointer>) {
        append(count: (bytes.count + 2) / 3 * 4) { output in
            UnsafeRawBufferPointer(rebasing: bytes).writeBase64(to: output)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Writes base64 to memory of exactly the size that it takes.
    fileprivate func writeBase64(to output: UnsafeMutableRawBufferPointer) {
        precondition(output.count == (count + 2) / 3 * 4)
        base64Digits.withUnsafeBufferPointer { digits in
            /// Four digits, the first one lowest.
            func group(_ bits: UInt32) -> UInt32 {
                func digit(_ shift: UInt32) -> UInt32 { UInt32(digits[Int(bits &>> shift & 63)]) }
                return digit(18) | digit(12) << 8 | digit(6) << 16 | digit(0) << 24
            }
            var (index, end) = (0, 0)
            while index + 3 <= count {
                let bits = UInt32(self[index]) << 16 | UInt32(self[index + 1]) << 8 | UInt32(self[index + 2])
                output.storeBytes(of: group(bits).littleEndian, toByteOffset: end, as: UInt32.self)
                (index, end) = (index + 3, end + 4)
            }
            guard index < count else { return }
            let isPair = index + 2 == count
            let bits = UInt32(self[index]) << 16 | (isPair ? UInt32(self[index + 1]) << 8 : 0)
            let padded = isPair ? group(bits) & 0xFF_FFFF | 0x3D00_0000 : group(bits) & 0xFFFF | 0x3D3D_0000
            output.storeBytes(of: padded.littleEndian, toByteOffset: end, as: UInt32.self)
        }
    }
}
