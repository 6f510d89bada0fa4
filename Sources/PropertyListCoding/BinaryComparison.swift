/// Two versions of a binary property list, compared as they are encoded: nothing is decoded.
///
/// Most of their bytes are the same, and mostly at the same distance from the beginning or the end. Objects that lie there are not looked
/// at twice.
struct BinaryComparison {
    private let earlier: BinaryReader
    private let later: BinaryReader
    /// Up to where both are the same.
    private let front: Int
    /// How many bytes in front of the tables of offsets are the same.
    private let back: Int
    /// How large what was found to be the same is, written out; at most, since UTF-16 grows by half when it becomes UTF-8.
    private(set) var units = 1

    // Deeper containers count as different: a list of what is still to be compared would cost more than it saves.
    private static let deepest = 16

    init(of later: BinaryReader, since earlier: BinaryReader) {
        (self.earlier, self.later) = (earlier, later)
        let old = earlier.bytes[0..<earlier.trailer.table]
        let new = later.bytes[0..<later.trailer.table]
        front = old.sharedStart(with: new)
        back = front == min(old.count, new.count) ? 0 : old.sharedEnd(with: new)
    }

    /// How many references, from two positions on, name the same objects, up to the first that do not.
    ///
    /// Where objects are the same, the later ones are as valid as the earlier ones.
    ///
    /// What is shared is walked wherever it stands; the limit that the earlier version was held to when it was read bounds that.
    ///
    /// - Parameters:
    ///   - count: how many are looked at.
    ///   - step: 1 to go forward, -1 to go backward.
    ///   - depth: how many containers they stand in.
    mutating func countOfSame(
        _ old: NumberRow, _ oldStart: Int, as new: NumberRow, _ newStart: Int, count: Int, step: Int = 1, depth: Int = 0
    ) throws(PropertyListError) -> Int {
        var same = 0
        while same < count {
            let oldPlace = try earlier.place(of: earlier.reference(oldStart + same * step, in: old))
            let place = try later.place(of: later.reference(newStart + same * step, in: new))
            if let end = try later.endOfLeaf(at: place) {
                units = units.saturatingSum(Bounds.units(ofLeaf: (end - place) * 2))
                guard try isSameLeaf(oldPlace, as: place..<end) else { break }
            } else {
                guard try isSameContainer(oldPlace, as: place, depth: depth + 1) else { break }
            }
            same += 1
        }
        return same
    }

    @inline(__always)
    private func isSameLeaf(_ old: Int, as new: Range<Int>) throws(PropertyListError) -> Bool {
        if new.lowerBound == old, new.upperBound <= front { return true }
        let distance = later.trailer.table - new.lowerBound
        if distance <= back, distance == earlier.trailer.table - old { return true }
        guard try earlier.endOfLeaf(at: old) == old + new.count else { return false }
        return later.bytes[new].isRepeated(in: earlier.bytes[old..<old + new.count], at: 0)
    }

    @inline(never)
    private mutating func isSameContainer(_ old: Int, as new: Int, depth: Int) throws(PropertyListError) -> Bool {
        let kind = later.bytes[new] >> 4
        guard depth <= Self.deepest, earlier.bytes[old] >> 4 == kind else { return false }
        let perElement = kind == 0xD ? 2 : 1
        let (count, start) = try later.payload(at: new, width: later.trailer.referenceSize * perElement)
        let (oldCount, oldStart) = try earlier.payload(at: old, width: earlier.trailer.referenceSize * perElement)
        guard count == oldCount else { return false }
        units = units.saturatingSum(1)
        let all = count * perElement
        let (children, oldChildren) = (later.references(at: start, count: all), earlier.references(at: oldStart, count: all))
        return try countOfSame(oldChildren, 0, as: children, 0, count: all, depth: depth) == all
    }
}

extension BinaryReader {
    /// Where a leaf ends that begins at an offset; nothing for a container, and for what is no object.
    @inline(__always)
    fileprivate func endOfLeaf(at offset: Int) throws(PropertyListError) -> Int? {
        let marker = bytes[offset]
        let end: Int
        switch marker >> 4 {
        case 0: end = offset + 1
        case 1, 2, 3: end = offset + 1 + 1 << Int(marker & 0xF)
        case 4, 5:
            let (count, start) = try payload(at: offset, width: 1)
            end = start + count
        case 6:
            let (count, start) = try payload(at: offset, width: 2)
            end = start + count * 2
        case 8: end = offset + 2 + Int(marker & 0xF)
        default: return nil
        }
        return end <= trailer.table ? end : nil
    }
}

extension UnsafeRawBufferPointer {
    /// How many bytes two end with alike.
    fileprivate func sharedEnd(with other: UnsafeRawBufferPointer) -> Int {
        let most = Swift.min(count, other.count)
        var same = 0
        while same + 8 <= most,
            loadUnaligned(fromByteOffset: count - same - 8, as: UInt64.self)
                == other.loadUnaligned(fromByteOffset: other.count - same - 8, as: UInt64.self)
        {
            same += 8
        }
        while same < most, self[count - same - 1] == other[other.count - same - 1] { same += 1 }
        return same
    }
}
