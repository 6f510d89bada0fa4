import FoundationSubset
import PropertyListCoding

/// Reads what ``LogWriter`` has written. Arbitrary bytes do not make it read beyond them, or exhaust the stack or the memory.
struct LogReader {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
        guard rest.count >= MemoryLayout<Number>.size else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[MemoryLayout<Number>.size...]) }
        return rest.loadUnaligned(as: Number.self)
    }

    /// A value, or `.some(nil)` for a removed one; nil if it is incomplete.
    mutating func value() -> PropertyListValue?? {
        guard let tag = tag() else { return nil }
        return tag == .none ? .some(nil) : value(tag, depth: 0).map { .some($0) }
    }

    private mutating func tag() -> LogTag? {
        number(UInt8.self).flatMap(LogTag.init)
    }

    private mutating func bytes() -> UnsafeRawBufferPointer? {
        guard let count = number(UInt32.self), count <= rest.count else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[Int(count)...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<Int(count)])
    }

    mutating func text() -> String? {
        bytes().flatMap { String(utf8: $0) }
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
        case .data: return bytes().map { .data(Data($0)) }
        case .uid: return number(UInt64.self).map { .uid($0) }
        case .array:
            guard let count = number(UInt32.self) else { return nil }
            var elements: [PropertyListValue] = []
            // Growing takes twice the memory. A count may be wrong: nested arrays reserve at most two elements for each byte together.
            elements.reserveCapacity(min(Int(clamping: count), rest.count >> depth))
            for _ in 0..<count {
                guard let tag = self.tag(), let element = value(tag, depth: depth + 1) else { return nil }
                elements.append(element)
            }
            return .array(elements)
        case .dictionary:
            guard let count = number(UInt32.self) else { return nil }
            var entries: [String: PropertyListValue] = [:]
            for _ in 0..<count {
                guard let key = text(), let tag = self.tag(), let value = value(tag, depth: depth + 1) else { return nil }
                entries[key] = value
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
