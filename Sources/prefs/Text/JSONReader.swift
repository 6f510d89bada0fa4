import PropertyListCoding

/// Reads JSON as a property list: strictly, whole numbers and others apart, and no deeper than a property list may be.
///
/// An object with the one key `CF$UID` and a whole number is a reference of an archive, as in XML property lists.
struct JSONReader {
    /// What is wrong with the text, and where.
    struct Mistake: Error, Equatable {
        let offset: Int
        let reason: String
    }

    static let deepest = 512

    private(set) var scanner: JSONScanner

    /// The value of a text that holds nothing else.
    static func value(of text: String) throws(Mistake) -> PropertyListValue {
        var reader = JSONReader(scanner: JSONScanner(bytes: Array(text.utf8)))
        let value = try reader.value(depth: 1)
        reader.scanner.skipSpace()
        guard reader.scanner.isAtEnd else { throw reader.scanner.mistake("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(Mistake) -> PropertyListValue {
        scanner.skipSpace()
        guard let byte = scanner.next else { throw scanner.mistake("a value is missing") }
        switch byte {
        case UInt8(ascii: "{"): return try dictionary(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try scanner.string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try scanner.number()
        case UInt8(ascii: "t") where scanner.skip("true"): return .boolean(true)
        case UInt8(ascii: "f") where scanner.skip("false"): return .boolean(false)
        case UInt8(ascii: "n") where scanner.skip("null"): throw scanner.mistake("a property list has no null")
        default: throw scanner.mistake("this is no value")
        }
    }

    private mutating func array(depth: Int) throws(Mistake) -> PropertyListValue {
        try enter(depth)
        var elements: [PropertyListValue] = []
        scanner.skipSpace()
        if scanner.skip("]") { return .array([]) }
        repeat {
            elements.append(try value(depth: depth + 1))
            scanner.skipSpace()
        } while scanner.skip(",")
        guard scanner.skip("]") else { throw scanner.mistake("a comma or ] is missing") }
        return .array(elements)
    }

    private mutating func dictionary(depth: Int) throws(Mistake) -> PropertyListValue {
        try enter(depth)
        var entries: [String: PropertyListValue] = [:]
        scanner.skipSpace()
        if scanner.skip("}") { return .dictionary([:]) }
        repeat {
            scanner.skipSpace()
            let start = scanner.offset
            let key = try scanner.string()
            scanner.skipSpace()
            guard scanner.skip(":") else { throw scanner.mistake("a colon is missing") }
            // Keys that differ in normalization alone are one key to Swift, and an error to the property list.
            guard entries.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
                throw Mistake(offset: start, reason: "the key \(JSONText.quoted(key)) is given twice")
            }
            scanner.skipSpace()
        } while scanner.skip(",")
        guard scanner.skip("}") else { throw scanner.mistake("a comma or } is missing") }
        return Self.reference(entries) ?? .dictionary(entries)
    }

    private mutating func enter(_ depth: Int) throws(Mistake) {
        guard depth <= Self.deepest else { throw scanner.mistake("it is nested deeper than \(Self.deepest) levels") }
        scanner.advance()
    }

    private static func reference(_ entries: [String: PropertyListValue]) -> PropertyListValue? {
        guard entries.count == 1, case .integer(let integer) = entries["CF$UID"] else { return nil }
        return integer.value(as: UInt64.self).map { .uid($0) }
    }
}
