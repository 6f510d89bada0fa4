import FoundationSubset

/// Writes JSON: keys are sorted, integers are exact, and a real is the shortest text that is read as the same real, never as an integer.
struct JSONWriter: ~Copyable {
    /// What is written for values that JSON has no form for.
    enum Substitutes {
        /// Nothing; they are an error.
        case none
        /// Text, as a person types it.
        case text
        /// An object with a tag, from which ``JSONReader`` reads the same value.
        case tagged
    }

    var output: OutputBuffer
    private let layout: TextLayout
    let substitutes: Substitutes
    private let lineStarts: LineStarts
    private var frames: DictionaryFrames
    /// The first value that cannot be written.
    var failure: PropertyListError?

    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        guard value.isContainer else {
            throw PropertyListError(
                offset: nil, reason: "JSON holds a dictionary or an array, not a single \(value.typeName)")
        }
        var writer = JSONWriter(for: value, in: TextLayout())
        writer.put(root: value)
        writer.output.append(0x0A)
        return try writer.data()
    }

    /// Encodes a part of a document: a value, or a member with its key.
    static func write(_ value: PropertyListValue, for key: String? = nil, in layout: TextLayout) throws(PropertyListError) -> Data {
        var writer = JSONWriter(for: value, in: layout)
        if let key {
            writer.put(key)
            writer.put(layout.colon)
        }
        writer.put(root: value)
        return try writer.data()
    }

    /// The text of any value on one line, without spaces.
    fileprivate static func line(_ value: PropertyListValue, _ substitutes: Substitutes) -> String {
        var writer = JSONWriter(for: value, in: .oneLine(), substitutes)
        writer.put(root: value)
        return String(decoding: writer.output.bytes, as: UTF8.self)
    }

    private init(for value: PropertyListValue, in layout: TextLayout, _ substitutes: Substitutes = .none) {
        (self.layout, self.substitutes) = (layout, substitutes)
        lineStarts = LineStarts(in: layout)
        output = OutputBuffer(capacity: 256 + value.childCount * 48)
        frames = DictionaryFrames(for: value)
    }

    private consuming func data() throws(PropertyListError) -> Data {
        if let failure { throw failure }
        return output.data()
    }
}

// MARK: - Containers

extension JSONWriter {
    private mutating func put(root: PropertyListValue) {
        var parents: [ContainerFrame] = []
        guard var frame = open(root, depth: layout.depth) else { return }
        while true {
            let depth = layout.depth + parents.count + 1
            guard frame.next == frame.count else {
                if frame.next > 0 {
                    output.append(0x2C)
                    put(layout.space)
                }
                output.append(lineStarts.bytes(depth: depth))
                let (key, value) = frame.nextChild()
                if let key {
                    put(key)
                    put(layout.colon)
                }
                if let child = open(value, depth: depth) {
                    parents.append(frame)
                    frame = child
                }
                continue
            }
            output.append(lineStarts.bytes(depth: depth - 1))
            output.append(frame.isDictionary ? 0x7D : 0x5D)
            if frame.isTagged { output.append(0x7D) }
            guard let parent = parents.popLast() else { return }
            frame = parent
        }
    }

    /// Writes a leaf, an empty container, or the opening bracket of another container, whose frame is returned.
    private mutating func open(_ value: PropertyListValue, depth: Int) -> ContainerFrame? {
        var frame: ContainerFrame
        switch value {
        case .array(let elements):
            if elements.isEmpty { output.append("[]") }
            frame = ContainerFrame(elements: elements)
        case .dictionary(let entries):
            let isTagged = substitutes == .tagged && Self.looksTagged(entries)
            if isTagged { output.append("{\"$dictionary\":") }
            if entries.isEmpty { output.append("{}") }
            frame = frames.frame(of: entries)
            frame.isTagged = isTagged
        default:
            put(leaf: value)
            return nil
        }
        if depth >= DecodingLimits.depth, substitutes == .none { failure = failure ?? .tooDeep(at: nil) }
        guard frame.count > 0 else { return nil }
        output.append(frame.isDictionary ? 0x7B : 0x5B)
        return frame
    }

    /// Whether the object of a dictionary would be read as another value.
    private static func looksTagged(_ entries: [String: PropertyListValue]) -> Bool {
        JSONReader.tag(of: entries) != nil || entries.count == 1 && entries[[String: PropertyListValue].uidKey] != nil
    }

    private mutating func put(_ bytes: [UInt8]) {
        for byte in bytes { output.append(byte) }
    }
}

extension PropertyListValue {
    /// JSON on one line, without spaces, in which dates, data and numbers such as NaN are strings.
    package var json: String { JSONWriter.line(self, .text) }

    /// JSON from which ``JSONReader`` reads the same value: types that JSON does not have are objects such as `{"$date":"…"}`.
    package var typedJSON: String { JSONWriter.line(self, .tagged) }
}

extension String {
    /// The JSON of the string, in which line breaks, control characters and bidirectional formatting characters are escaped.
    package var quoted: String { PropertyListValue.string(self).json }
}
