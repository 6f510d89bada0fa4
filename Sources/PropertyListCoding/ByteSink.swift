import Foundation

/// Bytes that are being written: memory that grows at its end, and becomes data without being copied.
///
/// Arrays look for room, uniqueness and bounds at each of the few bytes an object has; here one look at the room does.
struct ByteSink: ~Copyable {
    private(set) var count = 0
    private var capacity: Int
    private var start: UnsafeMutableRawPointer

    init(capacity: Int = 4096) {
        self.capacity = max(capacity, 16)
        start = Self.memory(of: self.capacity, insteadOf: nil)
    }

    deinit {
        free(start)
    }

    /// Memory of a size, with what stands in an old one. Large memory grows without being copied.
    private static func memory(of size: Int, insteadOf old: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
        guard let memory = realloc(old, size) else { fatalError("there is no memory for \(size) bytes") }
        return memory
    }

    /// What was written so far, until more is.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: count)
    }

    /// What was written from a place on, until more is.
    func bytes(from start: Int) -> UnsafeRawBufferPointer {
        bytes(from: start, to: count)
    }

    /// What was written between two places, until more is.
    @inline(__always)
    func bytes(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        precondition(start >= 0 && start <= end && end <= count)
        return UnsafeRawBufferPointer(start: self.start + start, count: end - start)
    }

    /// Makes the bytes data.
    consuming func data() -> Data {
        let spare = capacity - count
        if spare > Self.mostSpare, spare > count / 8 {
            start = Self.memory(of: max(count, 1), insteadOf: start)
        }
        let (start, count) = (start, count)
        discard self
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }

    /// How much memory data may keep without need. The system takes less back only to give it out again for the next property list.
    private static var mostSpare: Int { 4_194_304 }

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

    /// Appends a byte and others behind it.
    @inline(__always)
    mutating func append(_ first: UInt8, _ others: UnsafeRawBufferPointer) {
        reserve(1 + others.count)
        start.storeBytes(of: first, toByteOffset: count, as: UInt8.self)
        if let source = others.baseAddress { (start + count + 1).copyMemory(from: source, byteCount: others.count) }
        count += 1 + others.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the lowest bytes of a number, 1 to 8 of them, the highest first.
    @inline(__always)
    mutating func append(_ number: UInt64, size: Int) {
        precondition(size >= 1 && size <= 8)
        // All 8 are stored, which takes no branch, and those that are too many are written over.
        reserve(8)
        start.storeBytes(of: (number << UInt64(64 - 8 * size)).bigEndian, toByteOffset: count, as: UInt64.self)
        count += size
    }

    /// Appends a byte and behind it the lowest bytes of a number, 1 to 8 of them, the highest first.
    @inline(__always)
    mutating func append(_ first: UInt8, _ number: UInt64, size: Int) {
        precondition(size >= 1 && size <= 8)
        reserve(9)
        start.storeBytes(of: first, toByteOffset: count, as: UInt8.self)
        start.storeBytes(of: (number << UInt64(64 - 8 * size)).bigEndian, toByteOffset: count + 1, as: UInt64.self)
        count += 1 + size
    }

    /// Appends the lowest bytes of numbers.
    mutating func append(_ numbers: some Sequence<some BinaryInteger>, count more: Int, size: Int) {
        reserve(more * size + 8)
        for number in numbers { append(UInt64(truncatingIfNeeded: number), size: size) }
    }

    /// Takes back what was written behind a place.
    mutating func removeAll(from place: Int) {
        precondition(place >= 0 && place <= count)
        count = place
    }

    /// Makes room for so many more bytes.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        start = Self.memory(of: capacity, insteadOf: start)
    }
}
