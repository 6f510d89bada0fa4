/// Base64 with padding and without line breaks, as in JSON.
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The value of each byte as a digit; 0xFF if it is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// Appends the bytes in base64.
    static func encode(_ bytes: [UInt8], to output: inout [UInt8]) {
        output.reserveCapacity(output.count + (bytes.count + 2) / 3 * 4)
        let digits = digits
        var index = 0
        while index + 3 <= bytes.count {
            let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            output.append(digits[Int(bits >> 18)])
            output.append(digits[Int(bits >> 12 & 63)])
            output.append(digits[Int(bits >> 6 & 63)])
            output.append(digits[Int(bits & 63)])
            index += 3
        }
        guard index < bytes.count else { return }
        let isLast = index + 1 == bytes.count
        let bits = UInt32(bytes[index]) << 16 | (isLast ? 0 : UInt32(bytes[index + 1]) << 8)
        output.append(digits[Int(bits >> 18)])
        output.append(digits[Int(bits >> 12 & 63)])
        output.append(isLast ? UInt8(ascii: "=") : digits[Int(bits >> 6 & 63)])
        output.append(UInt8(ascii: "="))
    }

    /// The bytes that the text stands for; nil if it is not exactly what ``encode(_:to:)`` writes for some bytes.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        guard text.last == UInt8(ascii: "=") else { return decodeQuartets(text) }
        let tail = text.suffix(4)
        guard var bytes = decodeQuartets(text.dropLast(4)), let first = tail.first else { return nil }
        let isSingle = tail[tail.startIndex + 2] == UInt8(ascii: "=")
        let values = tail.prefix(isSingle ? 2 : 3).map { Self.values[Int($0)] }
        guard !values.contains(0xFF), first != UInt8(ascii: "=") else { return nil }
        // The bits that stand for no byte have to be 0: otherwise there would be several texts for the same bytes.
        guard values[isSingle ? 1 : 2] & (isSingle ? 15 : 3) == 0 else { return nil }
        bytes.append(values[0] << 2 | values[1] >> 4)
        if !isSingle { bytes.append(values[1] << 4 | values[2] >> 2) }
        return bytes
    }

    /// Decodes text without padding.
    private static func decodeQuartets(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let values = values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var index = text.startIndex
        while index < text.endIndex {
            let first = values[Int(text[index])]
            let second = values[Int(text[index + 1])]
            let third = values[Int(text[index + 2])]
            let fourth = values[Int(text[index + 3])]
            guard first | second | third | fourth < 64 else { return nil }
            bytes.append(first << 2 | second >> 4)
            bytes.append(second << 4 | third >> 2)
            bytes.append(third << 6 | fourth)
            index += 4
        }
        return bytes
    }
}
