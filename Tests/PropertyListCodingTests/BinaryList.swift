import Foundation

/// A binary property list assembled from parts, so that any part can be invalid.
struct BinaryList {
    var header = Array("bplist00".utf8)
    var objects: [[UInt8]]
    var root = 0
    var offsetSize = 1
    var referenceSize = 1
    /// Instead of the objects' own.
    var offsets: [Int]?
    var count: UInt64?
    var table: UInt64?
    /// The bytes between the offset table and the trailer.
    var gap: [UInt8] = []

    init(_ objects: [UInt8]...) {
        self.objects = objects
    }

    init(objects: [[UInt8]]) {
        self.objects = objects
    }

    /// The offset of an object.
    func offset(of object: Int) -> Int {
        objects[..<object].reduce(header.count) { $0 + $1.count }
    }

    private var ownOffsets: [Int] {
        var next = header.count
        return objects.map { object in
            defer { next += object.count }
            return next
        }
    }

    var data: Data {
        var bytes = header + objects.joined()
        let start = UInt64(bytes.count)
        for offset in offsets ?? ownOffsets { bytes += Self.bytes(UInt64(offset), offsetSize) }
        bytes += gap + [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        bytes +=
            Self.bytes(count ?? UInt64(offsets?.count ?? objects.count), 8) + Self.bytes(UInt64(root), 8) + Self.bytes(table ?? start, 8)
        return Data(bytes)
    }

    /// A big-endian number.
    static func bytes(_ number: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) : 0 }
    }

    /// A dictionary of one entry, `k`.
    static func entry(_ value: [UInt8]) -> BinaryList {
        BinaryList([0xD1, 1, 2], Array("Qk".utf8), value)
    }
}
