import FoundationSubset

/// A growing buffer of output bytes that becomes `Data` without a copy.
struct OutputBuffer: ~Copyable {
    private(set) var count = 0
    private var block: MemoryBlock

    /// - Parameter capacity: an estimate of the size.
    init(capacity: Int = 4096) {
        block = MemoryBlock(size: Self.blockSize(for: capacity))
    }

    /// The size of a block for a number of bytes: twice that for a mapping, because it takes no memory until it is written, and growing
    /// copies it. Without when it grows, peers.libplist.binary.write.data takes 1.7 times as long.
    private static func blockSize(for capacity: Int) -> Int {
        capacity >= MemoryBlock.smallestMapping ? capacity * 2 : max(capacity, 16)
    }

    private var start: UnsafeMutableRawPointer { @inline(__always) get { block.start } }
    private var capacity: Int { @inline(__always) get { block.size } }

    /// The bytes written so far; valid until the next mutation.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: count)
    }

    /// A part of the bytes written so far; valid until the next mutation.
    func bytes(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        precondition(start >= 0 && start <= end && end <= count)
        return UnsafeRawBufferPointer(start: self.start + start, count: end - start)
    }

    /// Turns the buffer into data. Its unused capacity is small, or has never been written and takes no memory.
    consuming func data() -> Data {
        block.data(count: count)
    }

    // The inlining in this file: xml.write takes 1.12 times as long without.

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a byte and the lowest 1 to 8 bytes of an integer, most significant first.
    mutating func append(_ first: UInt8, _ integer: UInt64, size: Int) {
        precondition(size >= 1 && size <= 8)
        reserve(9)
        start.storeBytes(of: first, toByteOffset: count, as: UInt8.self)
        start.storeBytes(of: (integer << UInt64(64 - 8 * size)).bigEndian, toByteOffset: count + 1, as: UInt64.self)
        count += 1 + size
    }

    /// Appends the lowest 1 to 8 bytes of an integer, most significant first.
    @inline(__always)
    mutating func append(_ integer: UInt64, size: Int) {
        precondition(size >= 1 && size <= 8)
        // Stores all 8 bytes, which takes no branch; the next bytes overwrite the surplus.
        reserve(8)
        start.storeBytes(of: (integer << UInt64(64 - 8 * size)).bigEndian, toByteOffset: count, as: UInt64.self)
        count += size
    }

    /// Appends the lowest bytes of each integer, most significant first.
    mutating func append(_ integers: some Collection<some BinaryInteger>, size: Int) {
        precondition(size >= 1 && size <= 8)
        reserve(integers.count * size + 8)
        let (shift, last) = (UInt64(64 - 8 * size), start + (capacity - 8))
        var next = start + count
        for integer in integers {
            precondition(next <= last)
            next.storeBytes(of: (UInt64(truncatingIfNeeded: integer) << shift).bigEndian, as: UInt64.self)
            next += size
        }
        count = next - start
    }

    mutating func append(decimal integer: PropertyListInteger) {
        if integer.isNegative { append(0x2D) }
        append(decimal: integer.isNegative ? 0 &- integer.bits : integer.bits)
    }

    mutating func append(decimal number: UInt64) {
        reserve(20)
        let size = number.decimalSize
        var (rest, offset) = (number, count + size)
        repeat {
            offset -= 1
            start.storeBytes(of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: offset, as: UInt8.self)
            rest /= 10
        } while rest > 0
        count += size
    }

    /// Appends a number of bytes, which a closure writes.
    mutating func append(count additional: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
        reserve(additional)
        body(UnsafeMutableRawBufferPointer(start: start + count, count: additional))
        count += additional
    }

    mutating func truncate(to newCount: Int) {
        precondition(newCount >= 0 && newCount <= count)
        count = newCount
    }

    @inline(__always)
    mutating func reserve(_ additional: Int) {
        if capacity - count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        block.resize(to: max(capacity * 2, Self.blockSize(for: count + additional)))
    }
}

extension UInt64 {
    fileprivate var decimalSize: Int {
        var (size, limit) = (1, 10 as UInt64)
        while size < 20, self >= limit {
            size += 1
            limit &*= 10
        }
        return size
    }
}
