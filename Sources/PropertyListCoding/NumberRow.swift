/// Big-endian numbers of one size, one behind the other: where they stand is checked once, each of them is one load.
///
/// Like the view it is made of, it must not outlive the memory.
struct NumberRow {
    private let start: UnsafeRawPointer
    private let size: Int
    private let shift: UInt64
    let count: Int
    /// Where in the bytes the first of them stands.
    let offset: Int

    /// Numbers of 1 to 8 bytes, behind which others stand, so that there are 8 of the last as well.
    init(in bytes: ByteView, from offset: Int, size: Int, count: Int) {
        precondition(size >= 1 && size <= 8 && count >= 0)
        start = bytes.start(of: count * size + 8 - size, at: offset)
        shift = UInt64(64 - 8 * size)
        (self.size, self.count, self.offset) = (size, count, offset)
    }

    @inline(__always)
    subscript(index: Int) -> UInt64 {
        precondition(index >= 0 && index < count)
        // One load and a shift, whatever the size: to choose a load for each would cost more.
        return UInt64(bigEndian: start.loadUnaligned(fromByteOffset: index &* size, as: UInt64.self)) &>> shift
    }

    /// Where in the bytes a number stands.
    func offset(of index: Int) -> Int {
        offset + index * size
    }
}
