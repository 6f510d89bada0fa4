import FoundationSubset
import PropertyListCoding

extension PropertyListValue? {
    /// A hash of the value that is the same in every process; 0 for no value. Different values hardly ever have the same.
    @inline(__always)
    package var fingerprint: UInt64 {
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
