// The Huffman code for strings in header blocks (RFC 7541, section 5.2 and appendix B).
extension HPACK {
    /// The length in bits of the code of each byte, and last of the end-of-string symbol, which no string may contain.
    ///
    /// The code is canonical, so that the lengths determine the codes: shorter codes sort first, and those of the same length are
    /// consecutive numbers in the order of their symbols.
    static let huffmanLengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]

    /// The codes of one length.
    private struct Group {
        let length: Int
        let first: UInt32
        /// The last code, padded with ones to 32 bits. Larger windows begin with a longer code.
        let limit: UInt32
        /// The index of the first code's symbol.
        let offset: Int
    }

    /// The symbols in the order of their codes.
    private static let symbols = huffmanLengths.indices.sorted { (huffmanLengths[$0], $0) < (huffmanLengths[$1], $1) }

    /// The groups in the order of their codes.
    private static let groups: [Group] = {
        var groups: [Group] = []
        var (next, offset) = (0 as UInt64, 0)
        for length in 1...30 {
            next <<= 1
            let count = huffmanLengths.count { $0 == length }
            guard count > 0 else { continue }
            let end = next + UInt64(count)
            groups.append(Group(length: length, first: UInt32(next), limit: UInt32(end << (32 - length) - 1), offset: offset))
            (next, offset) = (end, offset + count)
        }
        return groups
    }()

    /// The bytes of a string in this code.
    ///
    /// - Throws: ``HTTP2Violation/headerString`` if the string contains the end-of-string symbol, or if its padding is not the beginning of
    ///   that symbol's code, of at most 7 bits.
    static func huffmanDecoded(_ string: ArraySlice<UInt8>) throws(HTTP2Violation) -> [UInt8] {
        let (groups, symbols) = (groups, symbols)
        var bytes: [UInt8] = []
        // The shortest codes have 5 bits.
        bytes.reserveCapacity(string.count * 8 / 5)
        // The next bits, from the highest one on, followed by ones, as in the padding.
        var bits = UInt64.max
        var count = 0
        var index = string.startIndex
        while true {
            while count <= 56, index < string.endIndex {
                bits ^= UInt64(~string[index]) << (56 - count)
                count += 8
                index += 1
            }
            let window = UInt32(truncatingIfNeeded: bits >> 32)
            guard let group = groups.first(where: { window <= $0.limit }), group.length <= count else { break }
            let symbol = symbols[group.offset + Int(window >> (32 - group.length) - group.first)]
            guard let byte = UInt8(exactly: symbol) else { throw .headerString }
            bytes.append(byte)
            bits = ~(~bits << group.length)
            count -= group.length
        }
        guard count < 8, bits == .max else { throw .headerString }
        return bytes
    }
}
