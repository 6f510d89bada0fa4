/// Encodes fields as header blocks without the dynamic table and Huffman codes (RFC 7541): requests have few and short fields.
enum HPACKEncoder {

    /// Encodes fields, whose names have to be in lower case.
    static func encode(_ fields: [HTTPField]) -> [UInt8] {
        var block: [UInt8] = []
        for field in fields {
            // A proxy must not add credentials to a table, where they could be guessed.
            let isSecret = HTTPField.secretNames.contains(field.name)
            if !isSecret, let index = HPACKTable.index(of: field) {
                append(index, prefix: 7, pattern: 0x80, to: &block)
                continue
            }
            let index = HPACKTable.index(ofName: field.name)
            append(index ?? 0, prefix: 4, pattern: isSecret ? 0x10 : 0, to: &block)
            if index == nil { append(field.name, to: &block) }
            append(field.value, to: &block)
        }
        return block
    }

    private static func append(_ string: String, to block: inout [UInt8]) {
        append(string.utf8.count, prefix: 7, pattern: 0, to: &block)
        block += string.utf8
    }

    /// Appends an HPACK integer whose prefix is the low `prefix` bits of the first byte.
    ///
    /// - Parameter pattern: the other bits of the first byte.
    private static func append(_ integer: Int, prefix: Int, pattern: UInt8, to block: inout [UInt8]) {
        let largest = 1 << prefix - 1
        block.append(pattern | UInt8(truncatingIfNeeded: min(integer, largest)))
        guard integer >= largest else { return }
        var rest = integer - largest
        while rest >= 0x80 {
            block.append(0x80 | UInt8(truncatingIfNeeded: rest))
            rest >>= 7
        }
        block.append(UInt8(rest))
    }
}
