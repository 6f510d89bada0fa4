import FoundationSubset
import PropertyListCoding

/// Reads what ``LogWriter`` has written. Arbitrary bytes do not make it read beyond them, or exhaust the stack or the memory.
struct LogReader {
    private var rest: UnsafeRawBufferPointer
    private let isChecking: Bool

    /// - Parameter isChecking: whether to find only what is complete and valid: texts, data and containers are then empty.
    init(_ bytes: UnsafeRawBufferPointer, isChecking: Bool = false) {
        (rest, self.isChecking) = (bytes, isChecking)
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard let start = rest.baseAddress, count <= rest.count else { return nil }
        rest = UnsafeRawBufferPointer(start: start + count, count: rest.count - count)
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        take(MemoryLayout<Number>.size)?.loadUnaligned(as: Number.self)
    }

    /// A value, or `.some(nil)` for a removed one; nil if it is incomplete.
    mutating func value() -> PropertyListValue?? {
        guard let tag = tag() else { return nil }
        return tag == .none ? .some(nil) : value(tag, depth: 0).map { .some($0) }
    }

    private mutating func tag() -> LogTag? {
        number(UInt8.self).flatMap(LogTag.init)
    }

    /// The bytes of a text or of data.
    mutating func bytes() -> UnsafeRawBufferPointer? {
        number(UInt32.self).flatMap(Int.init(exactly:)).flatMap { take($0) }
    }

    mutating func text() -> String? {
        bytes().flatMap { isChecking ? $0.isValidUTF8 ? "" : nil : String(utf8: $0) }
    }

    /// The names of a path.
    mutating func path() -> [String]? {
        guard let steps = number(UInt32.self), steps <= LogWriter.depth else { return nil }
        var path: [String] = []
        for _ in 0..<steps {
            guard let step = text() else { return nil }
            path.append(step)
        }
        return path
    }

    private mutating func value(_ tag: LogTag, depth: Int) -> PropertyListValue? {
        guard depth <= LogWriter.depth else { return nil }
        switch tag {
        case .none: return nil
        case .string: return text().map { .string($0) }
        case .signed: return number(Int64.self).map { .integer(PropertyListInteger($0)) }
        case .unsigned: return number(UInt64.self).map { .integer(PropertyListInteger($0)) }
        case .real: return number(UInt64.self).map { .real(Double(bitPattern: $0)) }
        case .no: return .boolean(false)
        case .yes: return .boolean(true)
        case .date: return number(UInt64.self).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
        case .data: return bytes().map { .data(isChecking ? Data() : Data($0)) }
        case .uid: return number(UInt64.self).map { .uid($0) }
        case .array:
            guard let count = number(UInt32.self) else { return nil }
            var elements: [PropertyListValue] = []
            // Growing takes twice the memory. A count may be wrong: nested arrays reserve at most two elements for each byte together.
            if !isChecking { elements.reserveCapacity(min(Int(clamping: count), rest.count >> depth)) }
            for _ in 0..<count {
                guard let tag = self.tag(), let element = value(tag, depth: depth + 1) else { return nil }
                if !isChecking { elements.append(element) }
            }
            return .array(elements)
        case .dictionary:
            guard let count = number(UInt32.self) else { return nil }
            var entries: [String: PropertyListValue] = [:]
            for _ in 0..<count {
                guard let key = text(), let tag = self.tag(), let value = value(tag, depth: depth + 1) else { return nil }
                if !isChecking { entries[key] = value }
            }
            return .dictionary(entries)
        case .propertyList: return bytes().flatMap(propertyList)
        }
    }

    private func propertyList(_ bytes: UnsafeRawBufferPointer) -> PropertyListValue? {
        do throws(PropertyListError) {
            return try PropertyListValue.decode(Data(bytes)).value.array?.first
        } catch {
            return nil
        }
    }
}
