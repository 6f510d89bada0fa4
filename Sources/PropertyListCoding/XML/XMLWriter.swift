import FoundationSubset

/// Writes Apple's XML.
struct XMLWriter: ~Copyable {
    var output: OutputBuffer
    let layout: TextLayout
    private let lineStarts: LineStarts
    private var frames: DictionaryFrames

    private static let header: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        """

    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = XMLWriter(for: value, in: TextLayout(unit: [0x09]))
        writer.put(header)
        writer.beginLine(depth: 0)
        try writer.put(root: value)
        writer.put("\n</plist>\n")
        return writer.output.data()
    }

    /// Encodes a part of a document: a value, or the key of an entry, white space, and its value.
    ///
    /// It begins with the first tag, and ends with the last one.
    static func write(
        _ value: PropertyListValue, for key: String? = nil, after gap: some Collection<UInt8> = [], in layout: TextLayout
    ) throws(PropertyListError) -> Data {
        var writer = XMLWriter(for: value, in: layout)
        if let key {
            try writer.put(key: key)
            for byte in gap { writer.output.append(byte) }
        }
        try writer.put(root: value)
        return writer.output.data()
    }

    private init(for value: PropertyListValue, in layout: TextLayout) {
        self.layout = layout
        lineStarts = LineStarts(in: layout)
        // Estimated, because growing by doubling would double the time.
        output = OutputBuffer(capacity: 1024 + value.childCount * 96 + value.longLeafSize)
        frames = DictionaryFrames(for: value)
    }
}

// Containers.
extension XMLWriter {
    private mutating func put(root: PropertyListValue) throws(PropertyListError) {
        var parents: [ContainerFrame] = []
        guard var frame = try open(root, depth: layout.depth) else { return }
        guard layout.depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
        while true {
            let depth = layout.depth + parents.count + 1
            if frame.next < frame.count {
                beginLine(depth: depth)
                let (key, value) = frame.nextChild()
                if let key {
                    try put(key: key)
                    beginLine(depth: depth)
                }
                if let child = try open(value, depth: depth) {
                    guard depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
                    parents.append(frame)
                    frame = child
                }
            } else {
                beginLine(depth: depth - 1)
                put(frame.isDictionary ? "</dict>" : "</array>")
                guard let parent = parents.popLast() else { return }
                frame = parent
            }
        }
    }

    /// Writes a leaf, an empty container, or the opening tag of another container, whose frame is returned.
    private mutating func open(_ value: PropertyListValue, depth: Int) throws(PropertyListError) -> ContainerFrame? {
        switch value {
        case .array(let elements):
            put(elements.isEmpty ? "<array/>" : "<array>")
            return elements.isEmpty ? nil : ContainerFrame(elements: elements)
        case .dictionary(let entries):
            try refuseUIDLookalike(entries)
            put(entries.isEmpty ? "<dict/>" : "<dict>")
            return entries.isEmpty ? nil : frames.frame(of: entries)
        case .string(let string): try put(string: string)
        case .integer(let integer): put(integer)
        case .real(let real): put(real)
        case .boolean(let boolean): put(boolean ? "<true/>" : "<false/>")
        case .date(let date): try put(date)
        case .data(let data): put(data, depth: depth)
        case .uid(let uid): try put(uid: uid, depth: depth)
        }
        return nil
    }

    /// Appends a line ending and an indentation.
    mutating func beginLine(depth: Int) {
        output.append(lineStarts.bytes(depth: depth))
    }

    private func refuseUIDLookalike(_ entries: [String: PropertyListValue]) throws(PropertyListError) {
        guard entries.count == 1, let value = entries[[String: PropertyListValue].uidKey] else { return }
        switch value {
        case .integer, .real:
            throw PropertyListError(offset: nil, reason: "XML cannot tell a dictionary of the one key CF$UID from a uid")
        default: return
        }
    }
}
