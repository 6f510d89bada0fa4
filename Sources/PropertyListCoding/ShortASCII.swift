/// ASCII text so short that its size stands in the marker, and that a string holds it without memory of its own.
struct ShortASCII {
    // Its first 8 bytes, and 8 from the last of those on, with zeros behind its end.
    private let low: UInt64
    private let high: UInt64
    private let count: Int

    static let empty = ShortASCII()
    static var most: Int { 15 }

    private init() {
        (low, high, count) = (0, 0, 0)
    }

    /// Up to 15 bytes at an offset, behind which as many stand as are missing to 15.
    @inline(__always)
    init(_ count: Int, of bytes: ByteView, at offset: Int) {
        low = bytes.word(at: offset) & .lowest(bytes: count)
        high = bytes.word(at: offset + 7) & .lowest(bytes: count - 7)
        self.count = count
    }

    var isASCII: Bool {
        (low | high) & 0x8080_8080_8080_8080 == 0
    }

    var string: String {
        String(unsafeUninitializedCapacity: Self.most) { text in
            let text = UnsafeMutableRawBufferPointer(text)
            text.storeBytes(of: low, as: UInt64.self)
            text.storeBytes(of: high, toByteOffset: 7, as: UInt64.self)
            return count
        }
    }

    /// Whether it comes before another text, byte by byte; of two that only differ in zeros at their ends neither does.
    @inline(__always)
    func precedes(_ other: ShortASCII) -> Bool {
        low == other.low ? high.bigEndian < other.high.bigEndian : low.bigEndian < other.low.bigEndian
    }
}

extension UInt64 {
    /// A mask of so many bytes from the lowest on: none if there are fewer than that, all if there are more than 8.
    @inline(__always)
    fileprivate static func lowest(bytes: Int) -> UInt64 {
        bytes >= 8 ? .max : ~(.max << UInt64(8 * Swift.max(bytes, 0)))
    }
}
