/// Turns the header blocks of a connection into fields, in the order in which they arrive (RFC 7541).
///
/// Any bytes end in fields or an error, after time in proportion to their number. After an error the decoder must not be used again.
struct HPACKDecoder: Sendable {
    private let tableSize: Int
    private let maximumListSize: Int
    private var table: HPACKTable

    /// - Parameters:
    ///   - tableSize: the size of the table of earlier fields that was announced to the peer.
    ///   - maximumListSize: the largest size of the fields of a block: the bytes of the names and values, and 32 for each field.
    init(tableSize: Int = 4_096, maximumListSize: Int = 65_536) {
        (self.tableSize, self.maximumListSize) = (tableSize, maximumListSize)
        table = HPACKTable(maximumSize: tableSize)
    }

    /// The fields of a complete block, in their order.
    ///
    /// Names and values that are not valid UTF-8 are repaired; whether they are allowed in HTTP is not checked.
    mutating func decode(_ block: ArraySlice<UInt8>) throws(HTTP2Violation) -> [HTTPField] {
        var rest = block
        var fields: [HTTPField] = []
        var listSize = 0
        while let first = rest.popFirst() {
            let entry: HPACKTable.Entry
            // The number of zeros at the beginning tells what follows.
            switch first.leadingZeroBitCount {
            case 0: entry = try table.entry(at: Self.integer(first & 0x7F, prefix: 7, from: &rest))
            case 1:
                entry = try literal(first & 0x3F, prefix: 6, from: &rest)
                table.add(entry)
            case 2:
                let size = try Self.integer(first & 0x1F, prefix: 5, from: &rest)
                guard fields.isEmpty, size <= tableSize else { throw .headerTableSize }
                table.resize(to: size)
                continue
            // Whether a proxy may index the field (0001 or 0000) makes no difference here.
            default: entry = try literal(first & 0x0F, prefix: 4, from: &rest)
            }
            listSize += entry.size
            guard listSize <= maximumListSize else { throw .headersTooLarge }
            fields.append(entry.field)
        }
        return fields
    }

    /// Removes a field whose value, and perhaps name, is written out.
    private func literal(
        _ first: UInt8, prefix: Int, from rest: inout ArraySlice<UInt8>
    ) throws(HTTP2Violation) -> HPACKTable.Entry {
        let name: (text: String, size: Int)
        if first == 0 {
            name = try Self.string(from: &rest)
        } else {
            let entry = try table.entry(at: Self.integer(first, prefix: prefix, from: &rest))
            name = (entry.field.name, entry.nameSize)
        }
        let value = try Self.string(from: &rest)
        return HPACKTable.Entry(HTTPField(name: name.text, value: value.text), nameSize: name.size, valueSize: value.size)
    }

    /// Removes a string, and returns it with the number of its bytes.
    private static func string(from rest: inout ArraySlice<UInt8>) throws(HTTP2Violation) -> (text: String, size: Int) {
        guard let first = rest.popFirst() else { throw .headerBlock }
        let length = try integer(first & 0x7F, prefix: 7, from: &rest)
        guard length <= rest.count else { throw .headerBlock }
        let bytes = rest.prefix(length)
        rest = rest.dropFirst(length)
        guard first >= 0x80 else { return (String(decoding: bytes, as: UTF8.self), length) }
        let decoded = try HPACKHuffman.decode(bytes)
        return (String(decoding: decoded, as: UTF8.self), decoded.count)
    }

    /// Removes the rest of an integer of which the low bits of a byte are the beginning, or all of it.
    ///
    /// - Parameter prefix: how many bits of the first byte belong to it.
    private static func integer(_ first: UInt8, prefix: Int, from rest: inout ArraySlice<UInt8>) throws(HTTP2Violation) -> Int {
        guard first == 1 << prefix - 1 else { return Int(first) }
        var value = UInt64(first)
        // Five bytes are enough for 32 bits.
        for shift in stride(from: 0, through: 28, by: 7) {
            guard let byte = rest.popFirst() else { throw .headerBlock }
            value += UInt64(byte & 0x7F) << shift
            if byte < 0x80, let value = Int(exactly: value) { return value }
        }
        throw .headerBlock
    }
}
