extension HPACK {
    /// The fields of a complete block, in their order.
    ///
    /// Any bytes result in fields or an error, in time proportional to their number. Invalid UTF-8 in names and values is repaired;
    /// whether they are allowed in HTTP is not checked.
    ///
    /// - Parameter maximumListSize: the largest size of all fields: the bytes of the names and values, and 32 for each field.
    static func decode(_ block: ArraySlice<UInt8>, maximumListSize: Int = 65_536) throws(HTTP2Violation) -> [HTTPField] {
        var rest = block
        var fields: [HTTPField] = []
        var listSize = 0
        while let first = rest.popFirst() {
            let (field, size): (HTTPField, Int)
            // The number of leading zeros determines the representation.
            switch first.leadingZeroBitCount {
            case 0:
                field = try Self.field(at: integer(first & 0x7F, prefix: 7, from: &rest))
                size = field.name.utf8.count + field.value.utf8.count
            // A literal with incremental indexing; nothing fits into a dynamic table of size 0.
            case 1: (field, size) = try literal(first & 0x3F, prefix: 6, from: &rest)
            case 2:
                guard try integer(first & 0x1F, prefix: 5, from: &rest) == 0, fields.isEmpty else { throw .headerTableSize }
                continue
            // Literals without indexing (0000) and those never indexed (0001) differ for proxies only.
            default: (field, size) = try literal(first & 0x0F, prefix: 4, from: &rest)
            }
            listSize += size + 32
            guard listSize <= maximumListSize else { throw .headersTooLarge }
            fields.append(field)
        }
        return fields
    }

    /// Removes a literal field, and returns it with the size of its name and value as they were sent.
    private static func literal(
        _ first: UInt8, prefix: Int, from rest: inout ArraySlice<UInt8>
    ) throws(HTTP2Violation) -> (HTTPField, size: Int) {
        var (name, nameSize) = ("", 0)
        if first == 0 {
            (name, nameSize) = try string(from: &rest)
        } else {
            name = try Self.field(at: integer(first, prefix: prefix, from: &rest)).name
            nameSize = name.utf8.count
        }
        let (value, valueSize) = try string(from: &rest)
        return (HTTPField(name: name, value: value), nameSize + valueSize)
    }

    /// Removes a string, and returns it with its size as it was sent.
    private static func string(from rest: inout ArraySlice<UInt8>) throws(HTTP2Violation) -> (text: String, size: Int) {
        guard let first = rest.popFirst() else { throw .headerBlock }
        let length = try integer(first & 0x7F, prefix: 7, from: &rest)
        guard length <= rest.count else { throw .headerBlock }
        let bytes = rest.prefix(length)
        rest = rest.dropFirst(length)
        guard first >= 0x80 else { return (String(decoding: bytes, as: UTF8.self), length) }
        let decoded = try huffmanDecoded(bytes)
        return (String(decoding: decoded, as: UTF8.self), decoded.count)
    }

    /// Removes the rest of an HPACK integer whose prefix is the low `prefix` bits of the first byte.
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
