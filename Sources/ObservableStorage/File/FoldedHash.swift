/// A hash that is the same in every process: two words at a time are mixed in by a multiplication whose halves are folded.
struct FoldedHash {
    private(set) var value: UInt64

    init(seed: UInt64) {
        value = seed ^ 0x9e37_79b9_7f4a_7c15
    }

    @inline(__always)
    mutating func combine(_ first: UInt64, _ second: UInt64 = 0) {
        let mixed = value ^ first ^ 0x2d35_8dcc_aa6c_78a5
        let product = mixed.multipliedFullWidth(by: second ^ 0x8bb8_4b93_962e_acc9)
        value = mixed ^ product.high ^ product.low
    }

    /// Mixes in bytes, their number, and a word.
    @inline(__always)
    mutating func combine(_ bytes: UnsafeRawBufferPointer, _ word: UInt64 = 0) {
        let count = bytes.count
        combine(UInt64(truncatingIfNeeded: count), word)
        guard let start = bytes.baseAddress, count > 0 else { return }
        func number<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type = UInt64.self) -> UInt64 {
            UInt64(truncatingIfNeeded: start.loadUnaligned(fromByteOffset: offset, as: type))
        }
        var position = 0
        while count - position > 16 {
            combine(number(position), number(position + 8))
            position += 16
        }
        // The last two numbers overlap each other, or what was mixed in before.
        switch count {
        case 16...: combine(number(count - 16), number(count - 8))
        case 8...: combine(number(0), number(count - 8))
        case 4...: combine(number(0, UInt32.self), number(count - 4, UInt32.self))
        default: combine(number(0, UInt8.self) << 16 | number(count / 2, UInt8.self) << 8 | number(count - 1, UInt8.self))
        }
    }
}

extension String {
    /// The bytes of the text.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        return Array(utf8).withUnsafeBytes(body)
    }
}
