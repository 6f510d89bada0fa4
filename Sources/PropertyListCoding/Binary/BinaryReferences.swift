/// The references to each object of a binary property list, and the sizes of the objects.
struct BinaryReferences {
    /// How many there are, by object.
    var counts: [UInt32]
    /// The offset after each object; 0 for unused numbers.
    private(set) var ends: [Int]
    /// The objects false and true.
    private(set) var booleans: [Int?] = [nil, nil]
    /// The number of bytes of all objects; more than there are if objects overlap, and 0 if one is unknown. Not all references are counted
    /// then.
    private(set) var sizeOfObjects = 0

    /// Counts the references in all containers, be they in the value or not.
    init(in list: BinaryReader) throws(PropertyListError) {
        counts = Array(repeating: 0, count: list.objectCount)
        ends = Array(repeating: 0, count: list.objectCount)
        let sizes = (0...255).map { Self.size(ofMarker: $0, referenceSize: list.referenceSize) }
        for object in 0..<list.objectCount {
            let offset = try list.offset(of: object)
            if list.isContainer(at: offset), list.isUnused(object) { continue }
            let marker = Int(list.bytes[offset])
            let end: Int
            if let size = sizes[marker] {
                end = offset + size
            } else if let found = try list.end(at: offset) {
                end = found
            } else {
                sizeOfObjects = 0
                return
            }
            ends[object] = end
            sizeOfObjects += end - offset
            // Many numbers of one container would take a time that is not proportional to the size of the list.
            guard sizeOfObjects <= list.bytes.count else { return }
            if marker & ~1 == 0x08 {
                booleans[marker & 1] = object
            } else if list.isContainer(at: offset) {
                let children = try list.references(at: offset)
                for index in 0..<children.count { counts[try list.object(index, in: children)] += 1 }
            }
        }
    }

    /// The size of an object by its first byte; nil if that does not tell.
    ///
    /// A table of these, because types cannot be predicted: without, editing 10,000 entries takes 1.07 times as long.
    private static func size(ofMarker marker: Int, referenceSize: Int) -> Int? {
        let count = marker & 0xF
        let width: Int
        switch marker >> 4 {
        case 0: return 1
        case 1, 2, 3: return 1 + 1 << count
        case 8: return 2 + count
        case 4, 5: width = 1
        case 6: width = 2
        case 0xA: width = referenceSize
        case 0xD: width = referenceSize * 2
        default: return nil
        }
        return count == 0xF ? nil : 1 + count * width
    }
}

extension BinaryReader {
    /// Whether a number is of no object, because ``BinaryEditor`` has left it unused: its offset is that of the root.
    func isUnused(_ object: Int) -> Bool {
        object != root && offsets[object] == offsets[root]
    }
}
