import Foundation

/// Writes Apple's XML, in the layout Foundation gives it.
struct XMLWriter {
    var output: [UInt8] = []

    private static let header = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// Encodes the value.
    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = XMLWriter()
        writer.put(header)
        try writer.put(root: value)
        writer.put("</plist>\n")
        return Data(writer.output)
    }

    /// Appends text as it is.
    mutating func put(_ text: String) {
        output.append(contentsOf: text.utf8)
    }

    /// Appends text as it is.
    mutating func put(_ text: StaticString) {
        output.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the tabs at the beginning of a line.
    mutating func indent(_ depth: Int) {
        output.append(contentsOf: repeatElement(0x09, count: depth))
    }
}

extension XMLWriter {
    /// A container of which some children are written.
    private struct Frame {
        let children: Children
        var next = 0
    }

    private mutating func put(root: PropertyListValue) throws(PropertyListError) {
        var parents: [Frame] = []
        guard var frame = try open(root, depth: 0) else { return }
        while true {
            let depth = parents.count + 1
            if frame.next < frame.children.count {
                let value = frame.children[frame.next]
                if case .dictionary(let entries) = frame.children {
                    indent(depth)
                    try put(entries[frame.next].key, as: "key")
                }
                frame.next += 1
                if let child = try open(value, depth: depth) {
                    guard depth < Bounds.depth else { throw Bounds.tooDeep(at: nil) }
                    parents.append(frame)
                    frame = child
                }
            } else {
                indent(depth - 1)
                put(frame.children.isDictionary ? "</dict>\n" : "</array>\n" as StaticString)
                guard let parent = parents.popLast() else { return }
                frame = parent
            }
        }
    }

    /// Writes a leaf, or the opening tag of a container that is not empty, of which the frame is returned.
    private mutating func open(_ value: PropertyListValue, depth: Int) throws(PropertyListError) -> Frame? {
        indent(depth)
        switch value {
        case .array(let elements):
            put(elements.isEmpty ? "<array/>\n" : "<array>\n" as StaticString)
            return elements.isEmpty ? nil : Frame(children: .array(elements))
        case .dictionary(let entries):
            try refuseUIDLookalike(entries)
            put(entries.isEmpty ? "<dict/>\n" : "<dict>\n" as StaticString)
            return entries.isEmpty ? nil : Frame(children: .dictionary(entries.inByteOrder))
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
