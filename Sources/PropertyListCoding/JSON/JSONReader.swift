import FoundationSubset

/// Reads JSON as a property list: whole numbers are integers and others reals, and nesting is limited as in every property list.
package struct JSONReader {
    /// What is read besides JSON, and how values are represented that JSON has no form for.
    enum Dialect {
        /// A file that people edit: comments and commas after the last element are skipped, and a member that is null is no entry.
        case document
        /// A value as a person types it, strictly: an object whose only key is `CF$UID`, with a whole number, is a uid, as in XML.
        case text
        /// The same, in which an object whose only key is `$date`, `$data` or `$real` is a value of that type, and one whose only key is
        /// `$dictionary` is the dictionary in it.
        case typedText
    }

    let bytes: ByteView
    /// The offset of the next byte to read.
    var offset: Int
    let dialect: Dialect
    /// The containers that are being read, and their elements and keys, those of the innermost one last.
    private var frames: [Frame] = []
    private var elements: [PropertyListValue] = []
    private var keys: [Key] = []

    init(_ bytes: ByteView, from start: Int = 0, as dialect: Dialect = .document) {
        (self.bytes, offset, self.dialect) = (bytes, start, dialect)
    }

    /// Parses a text that contains a single value.
    package static func value(of text: String, isTyped: Bool = false) throws(PropertyListError) -> PropertyListValue {
        let result = text.withBytes { buffer in
            Result { () throws(PropertyListError) in
                guard let bytes = ByteView(buffer) else { throw PropertyListError(offset: 0, reason: reason("a value is missing")) }
                var reader = JSONReader(bytes, as: isTyped ? .typedText : .text)
                return try reader.read()
            }
        }
        return try result.get()
    }

    /// Decodes the root, which nothing follows.
    mutating func read() throws(PropertyListError) -> PropertyListValue {
        repeat {
            repeat { try skipSpace() } while try !readValue()
        } while try !endsRoot()
        guard next == nil else { throw error("something follows the value") }
        return elements.removeLast()
    }
}

// MARK: - Arrays and objects

extension JSONReader {
    private struct Frame {
        /// The offset of its opening bracket.
        let start: Int
        let isDictionary: Bool
        /// Whether it is the dictionary in a tagged object.
        let isTagged: Bool
        /// The indices of its first element and key.
        let elements: Int
        let keys: Int

        var closing: UInt8 { isDictionary ? 0x7D : 0x5D }
    }

    private typealias Key = (name: String, offset: Int, isNull: Bool)

    /// Reads a value; returns false if it is a container, of which only the beginning was read.
    private mutating func readValue() throws(PropertyListError) -> Bool {
        guard let next else { throw error("a value is missing") }
        switch next {
        case UInt8(ascii: "{"): return try !open(isDictionary: true)
        case UInt8(ascii: "["): return try !open(isDictionary: false)
        case UInt8(ascii: "\""): elements.append(.string(try string()))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): elements.append(try number())
        case UInt8(ascii: "t") where skip("true"): elements.append(.boolean(true))
        case UInt8(ascii: "f") where skip("false"): elements.append(.boolean(false))
        case UInt8(ascii: "n") where bytes.has("null", at: offset):
            guard dialect == .document, let frame = frames.last, frame.isDictionary else { throw error("a property list has no null") }
            offset += 4
            keys[keys.count - 1].isNull = true
            // A placeholder, which is removed with its key.
            elements.append(.boolean(false))
        default: throw error("this is not a value")
        }
        return true
    }

    /// Reads the beginning of a container up to its first element; returns false if it is empty, and was read whole.
    private mutating func open(isDictionary: Bool) throws(PropertyListError) -> Bool {
        // Each level of typed JSON may be a tagged object.
        guard frames.count < (dialect == .typedText ? 2 : 1) * DecodingLimits.depth else {
            throw error("it is nested deeper than \(DecodingLimits.depth) levels")
        }
        var isTagged = false
        if dialect == .typedText, isDictionary, let parent = frames.last, parent.isDictionary, !parent.isTagged {
            isTagged = keys.last?.name == "$dictionary"
        }
        let frame = Frame(
            start: offset, isDictionary: isDictionary, isTagged: isTagged, elements: elements.count, keys: keys.count)
        offset += 1
        try skipSpace()
        if skip(frame.closing) {
            elements.append(isDictionary ? .dictionary([:]) : .array([]))
            return false
        }
        frames.append(frame)
        if isDictionary { try readKey() }
        return true
    }

    private mutating func readKey() throws(PropertyListError) {
        let start = offset
        keys.append((try string(), start, false))
        try skipColon()
    }

    mutating func skipColon() throws(PropertyListError) {
        try skipSpace()
        guard skip(0x3A) else { throw error("a colon is missing") }
    }

    /// Closes the containers that end after a value; returns false if another value follows in the innermost one.
    private mutating func endsRoot() throws(PropertyListError) -> Bool {
        while true {
            try skipSpace()
            guard let frame = frames.last else { return true }
            if skip(0x2C) {
                try skipSpace()
                if dialect != .document || next != frame.closing {
                    if frame.isDictionary { try readKey() }
                    return false
                }
            }
            guard skip(frame.closing) else { throw error(frame.isDictionary ? "a comma or } is missing" : "a comma or ] is missing") }
            frames.removeLast()
            let container = frame.isDictionary ? try dictionary(of: frame) : .array(Array(elements[frame.elements...]))
            elements.removeLast(elements.count - frame.elements)
            elements.append(container)
        }
    }

    private mutating func dictionary(of frame: Frame) throws(PropertyListError) -> PropertyListValue {
        var entries = [String: PropertyListValue](minimumCapacity: keys.count - frame.keys)
        var hasNull = false
        for index in frame.keys..<keys.count {
            let key = keys[index]
            if key.isNull { hasNull = true }
            // Keys that differ only in Unicode normalization are equal in Swift.
            guard entries.updateValue(elements[frame.elements + index - frame.keys], forKey: key.name) == nil else {
                if dialect == .document, !entries.hasSameBytes(key.name) { throw .equivalentKey(key.name, at: key.offset) }
                throw error("the key \(key.name.debugDescription) is given twice", at: key.offset)
            }
        }
        if hasNull {
            for key in keys[frame.keys...] where key.isNull { entries[key.name] = nil }
        }
        keys.removeLast(keys.count - frame.keys)
        if frame.isTagged || dialect == .document { return .dictionary(entries) }
        if dialect == .typedText, let typed = try typedValue(entries, at: frame.start) { return typed }
        return entries.uid.map { .uid($0) } ?? .dictionary(entries)
    }

    /// The value that a tagged object stands for; nil if it has no tag.
    private func typedValue(_ entries: [String: PropertyListValue], at start: Int) throws(PropertyListError) -> PropertyListValue? {
        guard let tag = Self.tag(of: entries) else { return nil }
        let value: PropertyListValue? =
            switch (tag, entries[tag]) {
            case ("$date", .string(let text)?): Date(iso8601: text).map { .date($0) }
            case ("$data", .string(let text)?): Data(strictBase64: text).map { .data($0) }
            case ("$real", .string(let text)?): Double(text).map { .real($0) }
            case ("$dictionary", .dictionary(let dictionary)?) where entries.count == 1: .dictionary(dictionary)
            default: nil
            }
        guard let value else { throw error("an invalid object with the key \(tag.debugDescription)", at: start) }
        return value
    }

    /// The key by which typed JSON marks an object as another value; `$dictionary` marks a dictionary that has such a key itself.
    static func tag(of entries: [String: PropertyListValue]) -> String? {
        if entries["$dictionary"] != nil { return "$dictionary" }
        return entries.count == 1 ? ["$date", "$data", "$real"].first { entries[$0] != nil } : nil
    }
}
