import Foundation

/// Writes Apple's XML, in the layout Foundation gives it.
struct XMLWriter: ~Copyable {
    var output: ByteSink
    private var keys: KeyOrder
    /// The keys' bytes side by side, which compare faster than strings do.
    private var keyTexts = ByteSink()

    private init(for value: PropertyListValue) {
        // Roughly what it will take: memory that grows by doubling costs as much as all the rest.
        output = ByteSink(capacity: 1024 + value.childCount * 96)
        let count = value.isDictionary ? value.childCount : 0
        keys = KeyOrder(capacity: count, in: Scratch(size: KeyOrder.scratchSize(for: count)))
    }

    private static let header: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// Encodes the value.
    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = XMLWriter(for: value)
        writer.put(header)
        try writer.put(root: value)
        writer.put("</plist>\n")
        return writer.output.data()
    }

    /// Appends text as it is.
    mutating func put(_ text: StaticString) {
        output.append(text)
    }

    // Tabs in front of each of many values in a deep container would make the file as many times larger as it is deep.
    private static let mostTabs = 16

    /// Appends the tabs at the beginning of a line, of which there are no more however deep it is.
    mutating func indent(_ depth: Int) {
        for _ in 0..<min(depth, Self.mostTabs) { output.append(0x09) }
    }
}

extension XMLWriter {
    /// A container of which some children are written.
    private struct Frame {
        let isDictionary: Bool
        var elements: [PropertyListValue] = []
        var entries: [(key: String, value: PropertyListValue)] = []
        /// Which entry comes when.
        var order: [Int] = []
        var next = 0

        var count: Int { isDictionary ? entries.count : elements.count }
    }

    private mutating func put(root: PropertyListValue) throws(PropertyListError) {
        var parents: [Frame] = []
        guard var frame = try open(root, depth: 0) else { return }
        while true {
            let depth = parents.count + 1
            if frame.next < frame.count {
                let next = frame.isDictionary ? frame.order[frame.next] : frame.next
                frame.next += 1
                if frame.isDictionary {
                    indent(depth)
                    try put(frame.entries[next].key, as: "key")
                }
                let value = frame.isDictionary ? frame.entries[next].value : frame.elements[next]
                if let child = try open(value, depth: depth) {
                    guard depth < Bounds.depth else { throw Bounds.tooDeep(at: nil) }
                    parents.append(frame)
                    frame = child
                }
            } else {
                indent(depth - 1)
                put(frame.isDictionary ? "</dict>\n" : "</array>\n" as StaticString)
                guard let parent = parents.popLast() else { return }
                frame = parent
            }
        }
    }

    private mutating func frame(of dictionary: [String: PropertyListValue]) -> Frame {
        let entries = Array(dictionary)
        keys.removeAll(roomFor: entries.count)
        keyTexts.removeAll(from: 0)
        for (key, _) in entries {
            let start = keyTexts.count
            key.withBytes { keyTexts.append($0) }
            keys.append(from: start, count: keyTexts.count - start)
        }
        keys.sort(in: keyTexts.bytes)
        return Frame(isDictionary: true, entries: entries, order: (0..<keys.count).map { keys[$0] })
    }

    /// Writes a leaf, or the opening tag of a container that is not empty, of which the frame is returned.
    private mutating func open(_ value: PropertyListValue, depth: Int) throws(PropertyListError) -> Frame? {
        indent(depth)
        switch value {
        case .array(let elements):
            put(elements.isEmpty ? "<array/>\n" : "<array>\n" as StaticString)
            return elements.isEmpty ? nil : Frame(isDictionary: false, elements: elements)
        case .dictionary(let entries):
            try refuseUIDLookalike(entries)
            put(entries.isEmpty ? "<dict/>\n" : "<dict>\n" as StaticString)
            return entries.isEmpty ? nil : frame(of: entries)
        case .string(let string): try put(string, as: "string")
        case .integer(let integer): put(number: integer, as: "integer")
        case .real(let real): put(real)
        case .boolean(let boolean): put(boolean ? "<true/>\n" : "<false/>\n" as StaticString)
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
