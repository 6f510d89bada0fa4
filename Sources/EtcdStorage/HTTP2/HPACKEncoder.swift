/// Writes fields as header blocks that do not depend on earlier ones (RFC 7541): nothing is added to the table of the peer.
///
/// Requests have few fields, and no strings that would be worth a Huffman code.
enum HPACKEncoder {
    /// The names of fields whose values let others act for the sender: a proxy must not add them to a table, where they could be guessed.
    private static let secretNames: Set = ["authorization", "token"]

    /// The block of fields, whose names have to be in lower case.
    static func encode(_ fields: [HTTPField]) -> [UInt8] {
        var block: [UInt8] = []
        for field in fields {
            let isSecret = secretNames.contains(field.name)
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

    /// Appends an integer.
    ///
    /// - Parameters:
    ///   - prefix: how many bits of the first byte belong to it.
    ///   - pattern: the other bits of the first byte.
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
