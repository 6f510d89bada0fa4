/// The references to each object of a binary property list, and the sizes of the objects.
struct BinaryReferences: ~Copyable {
    /// How many there are, by object.
    var counts: ScratchArray<UInt32>
    /// The offset after each object; 0 for unused numbers.
    private(set) var ends: ScratchArray<Int>
    /// The objects false and true.
    private(set) var booleans: [Int?] = [nil, nil]
    /// The number of bytes of all objects; more than there are, or 0, if objects overlap, and 0 if one is unknown. Not all references are
    /// counted then.
    private(set) var sizeOfObjects = 0

    /// Counts the references in all containers, be they in the value or not.
    init(in list: BinaryReader) throws(PropertyListError) {
        counts = ScratchArray(repeating: 0, count: list.objectCount)
        ends = ScratchArray(repeating: 0, count: list.objectCount)
        // In registers, and the elements without checks, because their indices are below the number of objects: with arrays and checks,
        // editing 1,000 entries (commit.1000) takes 1.5 times as long.
        let (bytes, offsets, counts, ends, sizes) = (list.bytes, list.offsets, counts.elements, ends.elements, Self.sizes)
        let objects = UInt64(BinaryReader.headerSize)..<UInt64(list.objectsEnd)
        var total = 0
        for object in counts.indices {
            let place = offsets[object]
            guard objects.contains(place) else { return }
            let offset = Int(truncatingIfNeeded: place)
            let marker = bytes[offset]
            let size = Int(sizes[Int(marker)])
            if size > 0 {
                ends[object] = offset + size
                total += size
                continue
            }
            // Many numbers of one container would take a time that is not proportional to the size of the list.
            guard total <= bytes.count else { return }
            if list.isContainer(at: offset) {
                if list.isUnused(object) { continue }
                let children = try list.references(at: offset)
                ends[object] = children.offset(of: children.count)
                for index in 0..<children.count {
                    let child = children[index]
                    guard child < counts.count else { return }
                    counts[Int(truncatingIfNeeded: child)] += 1
                }
            } else {
                guard let end = try list.endOfLeaf(at: offset) else { return }
                ends[object] = end
                if marker & ~1 == 0x08 { booleans[Int(marker & 1)] = object }
            }
            total += ends[object] - offset
        }
        sizeOfObjects = total
    }

    /// The size of an object by its first byte; 0 if that does not tell, and for Booleans.
    ///
    /// A table, because types cannot be predicted: without, editing 10,000 entries takes 1.07 times as long.
    private static let sizes = (0...255).map { marker in
        let count = marker & 0xF
        let size =
            switch marker >> 4 {
            case 0: marker & ~1 == 0x08 ? 0 : 1
            case 1, 2, 3: 1 + 1 << count
            case 4, 5: count == 0xF ? 0 : 1 + count
            case 6: count == 0xF ? 0 : 1 + count * 2
            case 8: 2 + count
            default: 0
            }
        return UInt8(exactly: size) ?? 0
    }
}

extension BinaryReader {
    /// Whether a number is of no object, because ``BinaryEditor`` has left it unused: its offset is that of the root.
    func isUnused(_ object: Int) -> Bool {
        object != root && offsets[object] == offsets[root]
    }
}
