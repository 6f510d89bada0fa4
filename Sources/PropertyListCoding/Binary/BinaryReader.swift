/// Reads a binary property list: finds the objects to which its references refer.
///
/// Every offset, reference and count is checked before it is used, and every allocation is limited by the size of the input.
struct BinaryReader {
    let bytes: ByteView
    /// The object that is the value.
    let root: Int
    let objectCount: Int
    let referenceSize: Int
    /// The offset at which each object begins.
    let offsets: PackedIntegers
    /// The offset at which the objects end and the table of their offsets begins.
    let objectsEnd: Int

    // State of decoding.
    /// The bytes of text, data and references that may still be read; only overlapping objects exceed it.
    var byteBudget: Int
    var states: [ObjectState]
    /// The values of containers, texts and data that were visited twice.
    var shared: [Node] = []
    /// The cost of texts and data beyond 1 for each, not yet added to their container.
    var longLeafCost = 0
    /// The largest expansion cost that a value may have.
    let maximumCost: Int

    static let headerSize = 8
    static let trailerSize = 32

    /// Reads the trailer, the last 32 bytes.
    ///
    /// - Parameter isShared: whether objects are decoded by ``value(of:depth:)``, which shares those with several references.
    init(_ bytes: ByteView, isShared: Bool = true) throws(PropertyListError) {
        let trailer = bytes.count - Self.trailerSize
        guard trailer > Self.headerSize else {
            throw PropertyListError(offset: bytes.count, reason: "a binary property list of \(bytes.count) bytes is cut short")
        }
        let offsetSize = Int(bytes[trailer + 6])
        guard 1...8 ~= offsetSize else {
            throw PropertyListError(offset: trailer + 6, reason: "offsets are \(offsetSize) bytes wide, not 1 to 8")
        }
        referenceSize = Int(bytes[trailer + 7])
        guard 1...8 ~= referenceSize else {
            throw PropertyListError(offset: trailer + 7, reason: "references are \(referenceSize) bytes wide, not 1 to 8")
        }
        guard let table = Int(exactly: bytes.integer(at: trailer + 24, size: 8)), table > Self.headerSize, table < trailer else {
            throw PropertyListError(offset: trailer + 24, reason: "the table of offsets begins outside the data")
        }
        let (tableSize, overflow) = bytes.integer(at: trailer + 8, size: 8).multipliedReportingOverflow(by: UInt64(offsetSize))
        guard !overflow, tableSize == trailer - table else {
            throw PropertyListError(offset: trailer + 8, reason: "the number of objects does not fit the table of offsets")
        }
        objectCount = (trailer - table) / offsetSize
        // An object takes at least a byte, and a state is kept for each: offsets alone must not cost memory.
        guard objectCount <= table - Self.headerSize else {
            throw PropertyListError(offset: trailer + 8, reason: "more objects than there are bytes for")
        }
        guard let root = Int(exactly: bytes.integer(at: trailer + 16, size: 8)), root < objectCount else {
            throw PropertyListError(offset: trailer + 16, reason: "the root is not one of the \(objectCount) objects")
        }
        (self.bytes, self.root, objectsEnd) = (bytes, root, table)
        offsets = bytes.integers(at: table, size: offsetSize, count: objectCount)
        states = isShared ? Array(repeating: .unvisited, count: objectCount) : []
        // Twice the objects, because UTF-16 grows by half when it becomes UTF-8, and a container may be read twice.
        byteBudget = table.saturatingSum(table).saturatingSum(1024)
        maximumCost = DecodingLimits.maximumCost(forInput: bytes.count)
    }

    // The inlining in this and the other files of the reader: binary.parse takes 1.2 times as long without.

    @inline(__always)
    func offset(of object: Int) throws(PropertyListError) -> Int {
        let offset = offsets[object]
        guard offset >= Self.headerSize, offset < objectsEnd else {
            throw .object(object, outsideAt: offset, entry: offsets.offset(of: object))
        }
        return Int(truncatingIfNeeded: offset)
    }

    @inline(__always)
    func object(_ index: Int, in references: PackedIntegers) throws(PropertyListError) -> Int {
        let object = references[index]
        guard object < objectCount else {
            throw .reference(to: object, of: objectCount, at: references.offset(of: index))
        }
        return Int(truncatingIfNeeded: object)
    }

    /// The references of the container at an offset: for a dictionary, all keys and then all values.
    func references(at offset: Int) throws(PropertyListError) -> PackedIntegers {
        let perChild = isDictionary(at: offset) ? 2 : 1
        let (count, start) = try payload(at: offset, width: referenceSize * perChild)
        // The trailer follows, so that 8 bytes follow the start of each.
        return bytes.integers(at: start, size: referenceSize, count: count * perChild)
    }

    /// The number of elements that the object at an offset has and the offset of the first; all of them are inside the objects.
    @inline(__always)
    func payload(at offset: Int, width: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        let count = Int(bytes[offset] & 0xF)
        if count < 0xF, count * width < objectsEnd - offset { return (count, offset + 1) }
        // Most longer texts. Without, editing 10,000 entries takes 1.2 times as long. The trailer follows.
        if count == 0xF, bytes[offset + 1] == 0x10 {
            let count = Int(bytes[offset + 2])
            if count * width < objectsEnd - offset - 2 { return (count, offset + 3) }
        }
        return try longPayload(at: offset, width: width)
    }

    private func longPayload(at offset: Int, width: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        var count = UInt64(bytes[offset] & 0xF)
        var start = offset + 1
        if count == 0xF {
            guard start < objectsEnd else { throw .cutShort(offset) }
            let marker = bytes[start]
            guard marker >> 4 == 1, marker & 0xF <= 3 else {
                throw PropertyListError(offset: start, reason: "a count that is not an integer of 1 to 8 bytes")
            }
            let size = 1 << Int(marker & 0xF)
            guard objectsEnd - start > size else { throw .cutShort(offset) }
            count = bytes.integer(at: start + 1, size: size)
            start += 1 + size
        }
        guard count <= (objectsEnd - start) / width else { throw .count(count, tooLargeAt: offset) }
        return (Int(count), start)
    }

    func isContainer(at offset: Int) -> Bool {
        let type = bytes[offset] >> 4
        return type == 0xA || type == 0xD
    }

    func isDictionary(at offset: Int) -> Bool {
        bytes[offset] >> 4 == 0xD
    }
}

extension PropertyListError {
    static func cutShort(_ offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "an object is cut short")
    }

    static func count(_ count: UInt64, tooLargeAt offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a count of \(count), more than there are bytes for")
    }

    fileprivate static func reference(to object: UInt64, of count: Int, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a reference to object \(object) of \(count)")
    }

    fileprivate static func object(_ object: Int, outsideAt offset: UInt64, entry: Int) -> PropertyListError {
        PropertyListError(offset: entry, reason: "object \(object) lies outside the objects, at \(offset)")
    }
}
