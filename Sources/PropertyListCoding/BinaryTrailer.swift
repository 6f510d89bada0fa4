/// The last 32 bytes of a binary property list, checked: where the offsets stand, how wide they are, and which object is the root.
struct BinaryTrailer {
    static let size = 32
    static let headerSize = 8

    let offsetSize: Int
    let referenceSize: Int
    let objectCount: Int
    let root: Int
    /// Where the table of offsets begins, which is where the objects end.
    let table: Int

    init(of bytes: ByteView) throws(PropertyListError) {
        let start = bytes.count - Self.size
        guard start > Self.headerSize else {
            throw PropertyListError(offset: bytes.count, reason: "a binary property list of \(bytes.count) bytes is cut short")
        }
        offsetSize = Int(bytes[start + 6])
        referenceSize = Int(bytes[start + 7])
        guard 1...8 ~= offsetSize else {
            throw PropertyListError(offset: start + 6, reason: "offsets are \(offsetSize) bytes wide, not 1 to 8")
        }
        guard 1...8 ~= referenceSize else {
            throw PropertyListError(offset: start + 7, reason: "references are \(referenceSize) bytes wide, not 1 to 8")
        }
        guard let table = Int(exactly: bytes.number(at: start + 24, size: 8)), table > Self.headerSize, table < start else {
            throw PropertyListError(offset: start + 24, reason: "the table of offsets begins outside the data")
        }
        self.table = table
        let (tableSize, overflow) = bytes.number(at: start + 8, size: 8).multipliedReportingOverflow(by: UInt64(offsetSize))
        guard !overflow, tableSize == start - table else {
            throw PropertyListError(offset: start + 8, reason: "the number of objects does not fit the table of offsets")
        }
        objectCount = (start - table) / offsetSize
        // An object has a byte at least, and a reader needs room for each: offsets alone must not cost memory.
        guard objectCount <= table - Self.headerSize else {
            throw PropertyListError(offset: start + 8, reason: "more objects than there are bytes for")
        }
        guard let root = Int(exactly: bytes.number(at: start + 16, size: 8)), root < objectCount else {
            throw PropertyListError(offset: start + 16, reason: "the root is not one of the \(objectCount) objects")
        }
        self.root = root
    }
}
