import FoundationSubset

/// The white space between the elements of a value: by default Foundation's, otherwise that of the document to which the value is added.
struct XMLLayout {
    /// The number of containers around the value.
    var depth = 0
    /// The white space at the beginning of the line on which the value starts.
    var margin: [UInt8] = []
    /// The additional white space for each container inside.
    var unit: [UInt8] = [0x09]
    /// What separates lines.
    var lineEnding: [UInt8] = [0x0A]

    /// Everything on one line.
    static func oneLine(depth: Int) -> XMLLayout {
        XMLLayout(depth: depth, unit: [], lineEnding: [])
    }
}

/// Writes Apple's XML.
struct XMLWriter: ~Copyable {
    var output: OutputBuffer
    let layout: XMLLayout
    /// The margin and the deepest indentation.
    let indentation: [UInt8]
    private var frames: DictionaryFrames

    // Full indentation would multiply the size of a deep container by its depth.
    static let maximumTabs = 16

    private static let header: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// Encodes a value.
    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = XMLWriter(for: value, in: XMLLayout())
        writer.put(header)
        try writer.put(root: value)
        writer.put("</plist>\n")
        return writer.output.data()
    }

    /// Encodes a part of a document: a value, or the key of an entry, white space, and its value.
    ///
    /// It begins with the first tag, and ends with the last one.
    static func write(
        _ value: PropertyListValue, for key: String? = nil, after gap: some Collection<UInt8> = [], in layout: XMLLayout
    ) throws(PropertyListError) -> Data {
        var writer = XMLWriter(for: value, in: layout)
        if let key {
            try writer.put(key, as: "key")
            writer.output.truncate(to: writer.output.count - layout.lineEnding.count)
            for byte in gap { writer.output.append(byte) }
        }
        try writer.put(root: value)
        writer.output.truncate(to: writer.output.count - layout.lineEnding.count)
        return writer.output.data()
    }

    private init(for value: PropertyListValue, in layout: XMLLayout) {
        self.layout = layout
        indentation = layout.margin + (0..<Self.maximumTabs).flatMap { _ in layout.unit }
        // Estimated, because growing by doubling would double the time.
        output = OutputBuffer(capacity: 1024 + value.childCount * 96)
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
                let value: PropertyListValue
                if frame.isDictionary {
                    let (key, entry) = frame.entries[frame.order[frame.next]]
                    indent(depth)
                    try put(key, as: "key")
                    value = entry
                } else {
                    value = frame.elements[frame.next]
                }
                frame.next += 1
                indent(depth)
                if let child = try open(value, depth: depth) {
                    guard depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
                    parents.append(frame)
                    frame = child
                }
            } else {
                indent(depth - 1)
                put(line: frame.isDictionary ? "</dict>" : "</array>")
                guard let parent = parents.popLast() else { return }
                frame = parent
            }
        }
    }

    /// Writes a leaf, an empty container, or the opening tag of another container, whose frame is returned.
    private mutating func open(_ value: PropertyListValue, depth: Int) throws(PropertyListError) -> ContainerFrame? {
        switch value {
        case .array(let elements):
            put(line: elements.isEmpty ? "<array/>" : "<array>")
            return elements.isEmpty ? nil : ContainerFrame(isDictionary: false, elements: elements)
        case .dictionary(let entries):
            try refuseUIDLookalike(entries)
            put(line: entries.isEmpty ? "<dict/>" : "<dict>")
            return entries.isEmpty ? nil : frames.frame(of: entries)
        case .string(let string): try put(string, as: "string")
        case .integer(let integer): put(integer)
        case .real(let real): put(real)
        case .boolean(let boolean): put(line: boolean ? "<true/>" : "<false/>")
        case .date(let date): try put(date)
        case .data(let data): put(data, depth: depth)
        case .uid(let uid): try put(uid: uid, depth: depth)
        }
        return nil
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
