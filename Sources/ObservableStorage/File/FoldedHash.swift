import FoundationSubset
import PropertyListCoding

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

extension PropertyListValue? {
    /// A number that equal values have in every process, and different ones hardly ever; 0 for none.
    @inline(__always)
    var fingerprint: UInt64 {
        switch self {
        case nil: 0
        case .integer(let number)?: number.fingerprint
        case .string(let text)?: text.fingerprint
        case let value?: value.fingerprint(depth: 0)
        }
    }
}

extension PropertyListInteger {
    @inline(__always)
    fileprivate var fingerprint: UInt64 {
        var hash = FoldedHash(seed: 0)
        if let number = value(as: Int64.self) {
            hash.combine(UInt64(bitPattern: number), 2)
        } else {
            hash.combine(value(as: UInt64.self) ?? 0, 3)
        }
        return max(hash.value, 1)
    }
}

extension String {
    @inline(__always)
    fileprivate var fingerprint: UInt64 {
        var hash = FoldedHash(seed: 0)
        withBytes { hash.combine($0, 1) }
        return max(hash.value, 1)
    }
}

extension PropertyListValue {
    @inline(never)
    fileprivate func fingerprint(depth: Int) -> UInt64 {
        var hash = FoldedHash(seed: 0)
        switch self {
        case .string(let text): return text.fingerprint
        case .integer(let number): return number.fingerprint
        case .real(let number): hash.combine(number.bitPattern, 4)
        case .boolean(let isTrue): hash.combine(0, isTrue ? 6 : 5)
        case .date(let date): hash.combine(date.timeIntervalSinceReferenceDate.bitPattern, 7)
        case .data(let data): data.withUnsafeBytes { hash.combine($0, 8) }
        case .array(let elements):
            hash.combine(UInt64(elements.count), 9)
            guard depth < LogWriter.depth else { break }
            for element in elements { hash.combine(element.fingerprint(depth: depth + 1)) }
        case .dictionary(let entries):
            hash.combine(UInt64(entries.count), 10)
            guard depth < LogWriter.depth else { break }
            // Equal dictionaries may differ in order.
            var sum: UInt64 = 0
            for (key, value) in entries {
                var entry = FoldedHash(seed: 1)
                key.withBytes { entry.combine($0) }
                entry.combine(value.fingerprint(depth: depth + 1))
                sum &+= entry.value
            }
            hash.combine(sum)
        case .uid(let number): hash.combine(number, 11)
        }
        return max(hash.value, 1)
    }
}
