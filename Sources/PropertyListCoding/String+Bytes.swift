import Foundation

extension String {
    /// Does something with the UTF-8.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        // Text that belongs to Objective-C has no UTF-8 of its own.
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Whether the UTF-8 of two strings is the same.
    func hasSameBytes(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in left.count == right.count && left.isRepeated(in: right, at: 0) }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the same bytes stand in other ones at a place.
    func isRepeated(in others: UnsafeRawBufferPointer, at place: Int) -> Bool {
        precondition(place >= 0 && place <= others.count)
        guard count <= others.count - place else { return false }
        guard let start = baseAddress, let other = others.baseAddress else { return true }
        return memcmp(start, other + place, count) == 0
    }

    /// How many bytes two begin with alike, looking at so many.
    func sharedStart(with other: UnsafeRawBufferPointer, atMost size: Int = .max) -> Int {
        let size = Swift.min(size, count, other.count)
        var place = 0
        while place + 8 <= size {
            let difference =
                loadUnaligned(fromByteOffset: place, as: UInt64.self) ^ other.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            if difference != 0 { return place + difference.littleEndian.trailingZeroBitCount / 8 }
            place += 8
        }
        while place < size, self[place] == other[place] { place += 1 }
        return place
    }
}
