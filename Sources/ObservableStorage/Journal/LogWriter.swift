import FoundationSubset
import PropertyListCoding

/// The types of values in an edit log or a journal.
enum LogTag: UInt8 {
    case none, string, signed, unsigned, real, no, yes, date, data, array, dictionary, uid
    /// A binary property list of an array with the value.
    case propertyList
}

/// Writes edits into memory without checking bounds: the caller makes room for their size before.
struct LogWriter {
    // The maximum depth of values, which limits the stack that reading them needs.
    static let depth = 128

    private(set) var position: UnsafeMutableRawPointer

    init(at start: UnsafeMutableRawPointer) {
        position = start
    }

    @inline(__always)
    mutating func write(key: String, path: [String] = [], over: UInt64, value: PropertyListValue?) {
        put(over)
        put(key)
        put(path)
        put(value)
    }

    /// Writes the names of a path after their number.
    @inline(__always)
    mutating func put(_ path: [String]) {
        put(UInt32(truncatingIfNeeded: path.count))
        for step in path { put(step) }
    }

    /// Writes the tag of a value, and the value; only a tag for nil.
    @inline(__always)
    mutating func put(_ value: PropertyListValue?) {
        switch value {
        case nil: put(LogTag.none)
        case .integer(let number)?: put(number)
        case .string(let text)?:
            put(LogTag.string)
            put(text)
        case let value?: put(whole: value)
        }
    }

    @inline(__always)
    mutating func put<Number: FixedWidthInteger>(_ number: Number) {
        position.storeBytes(of: number, as: Number.self)
        position += MemoryLayout<Number>.size
    }

    @inline(__always)
    mutating func put(_ tag: LogTag) {
        put(tag.rawValue)
    }

    @inline(__always)
    mutating func put(_ text: String) {
        text.withBytes { put($0) }
    }

    @inline(__always)
    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        put(UInt32(truncatingIfNeeded: bytes.count))
        if let start = bytes.baseAddress { position.copyMemory(from: start, byteCount: bytes.count) }
        position += bytes.count
    }

    @inline(__always)
    private mutating func put(_ number: PropertyListInteger) {
        if let signed = number.value(as: Int64.self) {
            put(LogTag.signed)
            put(signed)
        } else {
            put(LogTag.unsigned)
            put(number.value(as: UInt64.self) ?? 0)
        }
    }

    @inline(never)
    private mutating func put(whole value: PropertyListValue) {
        switch value {
        case .integer(let number): put(number)
        case .string(let text):
            put(LogTag.string)
            put(text)
        case .real(let number):
            put(LogTag.real)
            put(number.bitPattern)
        case .boolean(let isTrue): put(isTrue ? LogTag.yes : .no)
        case .date(let date):
            put(LogTag.date)
            put(date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data):
            put(LogTag.data)
            data.withUnsafeBytes { put($0) }
        case .array(let elements):
            put(LogTag.array)
            put(UInt32(truncatingIfNeeded: elements.count))
            for element in elements { put(whole: element) }
        case .dictionary(let entries):
            put(LogTag.dictionary)
            put(UInt32(truncatingIfNeeded: entries.count))
            for (key, value) in entries {
                put(key)
                put(whole: value)
            }
        case .uid(let number):
            put(LogTag.uid)
            put(number)
        }
    }
}

// MARK: - Sizes

extension LoggedEdit {
    /// The size of the edit in a record; nil if its value is nested too deep for a log.
    var size: Int? {
        guard path.count <= LogWriter.depth, let size = Self.size(key, value) else { return nil }
        return path.reduce(size) { $0 + $1.loggedSize }
    }

    /// The size of an edit of a whole entry.
    @inline(__always)
    static func size(_ key: String, _ value: PropertyListValue?) -> Int? {
        // The fingerprint of the value before, the number of steps of the path, and the type.
        let size = 8 + key.loggedSize + 4 + 1
        switch value {
        case nil: return size
        case .integer?: return size + 8
        case .string(let text)?: return size + text.loggedSize
        case let value?: return value.loggedSize().map { size + $0 }
        }
    }
}

extension String {
    /// The size of the text with its length.
    @inline(__always)
    var loggedSize: Int { 4 + utf8.count }
}

extension PropertyListValue {
    /// The size of the value without its type; nil if it is nested too deep.
    @inline(never)
    func loggedSize(depth: Int = 0) -> Int? {
        guard depth <= LogWriter.depth else { return nil }
        switch self {
        case .boolean: return 0
        case .integer, .real, .date, .uid: return 8
        case .string(let text): return text.loggedSize
        case .data(let data): return 4 + data.count
        case .array(let elements):
            var size = 4
            for element in elements {
                guard let added = element.loggedSize(depth: depth + 1) else { return nil }
                size += 1 + added
            }
            return size
        case .dictionary(let entries):
            var size = 4
            for (key, value) in entries {
                guard let added = value.loggedSize(depth: depth + 1) else { return nil }
                size += key.loggedSize + 1 + added
            }
            return size
        }
    }
}
