/// Reads Apple's XML property lists from valid UTF-8.
///
/// Lenient like Foundation: the `<plist>` around the root may be missing, attributes are ignored, everything after
/// `</plist>` is ignored, and of two entries with the same key the later one is used.
struct XMLReader {
    let bytes: ByteView
    /// The offset of the next byte to read.
    var offset: Int

    init(_ bytes: ByteView, from start: Int) {
        (self.bytes, offset) = (bytes, start)
    }

    mutating func read() throws(PropertyListError) -> PropertyListValue {
        let (root, isInPlist) = try readRootTag()
        let value = try value(of: root)
        try skipBetweenTags()
        guard isInPlist else {
            guard isAtEnd else { throw PropertyListError(offset: offset, reason: "something follows the root") }
            return value
        }
        let close = try readTag()
        guard close.isClosing, close.element == .plist else {
            throw PropertyListError(offset: close.offset, reason: "something other than </plist> follows the root")
        }
        return value
    }

    /// Reads everything up to the tag of the root, and whether that is inside a `<plist>`.
    mutating func readRootTag() throws(PropertyListError) -> (root: XMLTag, isInPlist: Bool) {
        repeat { try skipBetweenTags() } while try skipDocumentType()
        let tag = try readTag()
        guard tag.element == .plist, !tag.isClosing else { return (tag, false) }
        if !tag.isEmpty {
            try skipBetweenTags()
            let root = try readTag()
            if !root.isClosing { return (root, true) }
        }
        throw PropertyListError(offset: tag.offset, reason: "an empty <plist>")
    }
}

extension XMLReader {
    /// A container whose children are being read.
    private struct Frame {
        let tag: XMLTag
        var elements: [PropertyListValue] = []
        var entries: [String: PropertyListValue] = [:]
        /// The key of the next value, and its offset.
        var key: (name: String, offset: Int)?

        var isDictionary: Bool { tag.element == .dictionary }
    }

    private mutating func value(of root: XMLTag) throws(PropertyListError) -> PropertyListValue {
        if let leaf = try leaf(root) { return leaf }
        var parents: [Frame] = []
        var frame = Frame(tag: root)
        while true {
            try skipBetweenTags()
            guard !isAtEnd else { throw ended("inside <\(frame.tag.element.name)>") }
            let tag = try readTag()
            if tag.isClosing {
                let value = try close(frame, tag)
                if parents.isEmpty { return value }
                // Moved: with a copy beside it, adding a value would copy all others, unless the program is optimized.
                frame = parents.removeLast()
                try add(value, to: &frame)
            } else if frame.isDictionary, frame.key == nil {
                guard tag.element == .key else {
                    throw PropertyListError(offset: tag.offset, reason: "<\(tag.element.name)> where a key should be")
                }
                frame.key = (try string(tag), tag.offset)
            } else if let leaf = try leaf(tag) {
                try add(leaf, to: &frame)
            } else {
                guard parents.count + 1 < DecodingLimits.depth else { throw .tooDeep(at: tag.offset) }
                parents.append(frame)
                frame = Frame(tag: tag)
            }
        }
    }

    private func close(_ frame: Frame, _ tag: XMLTag) throws(PropertyListError) -> PropertyListValue {
        guard tag.element == frame.tag.element else {
            throw PropertyListError(offset: tag.offset, reason: "</\(tag.element.name)> closes <\(frame.tag.element.name)>")
        }
        if let key = frame.key {
            throw PropertyListError(offset: key.offset, reason: "the key \(key.name.debugDescription) has no value")
        }
        guard frame.isDictionary else { return .array(frame.elements) }
        return frame.entries.uid.map(PropertyListValue.uid) ?? .dictionary(frame.entries)
    }

    private func add(_ value: PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        guard let key = frame.key else {
            frame.elements.append(value)
            return
        }
        frame.key = nil
        if frame.entries.updateValue(value, forKey: key.name) != nil, !frame.entries.hasSameBytes(key.name) {
            throw .equivalentKey(key.name, at: key.offset)
        }
    }
}

extension [String: PropertyListValue] {
    /// The only key of a dictionary that represents a uid in XML and JSON.
    static var uidKey: String { "CF$UID" }

    /// The uid that the dictionary represents in XML and JSON.
    var uid: UInt64? {
        guard count == 1, case .integer(let number)? = self[Self.uidKey] else { return nil }
        return number.value()
    }
}
