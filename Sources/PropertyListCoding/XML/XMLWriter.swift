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
    private var output: OutputBuffer
    private let layout: XMLLayout
    /// The margin and the deepest indentation.
    private let indentation: [UInt8]
    private var frames: DictionaryFrames

    // Full indentation would multiply the size of a deep container by its depth.
    private static let maximumTabs = 16

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

// Leaves.
extension XMLWriter {
    /// Appends text without escaping it.
    private mutating func put(_ text: StaticString) {
        output.append(text)
    }

    /// Appends a text and a line ending.
    private mutating func put(line text: StaticString) {
        put(text)
        endLine()
    }

    private mutating func endLine() {
        for byte in layout.lineEnding { output.append(byte) }
    }

    private mutating func indent(_ depth: Int) {
        let size = layout.margin.count + layout.unit.count * min(depth - layout.depth, Self.maximumTabs)
        indentation.withUnsafeBytes { output.append(UnsafeRawBufferPointer(rebasing: $0[..<size])) }
    }

    private mutating func open(_ element: StaticString) {
        output.append(0x3C)
        put(element)
        output.append(0x3E)
    }

    private mutating func close(_ element: StaticString) {
        put("</" as StaticString)
        put(element)
        put(line: ">")
    }

    private mutating func put(_ text: String, as element: StaticString) throws(PropertyListError) {
        open(element)
        try put(escaped: text)
        close(element)
    }

    private mutating func put(_ integer: PropertyListInteger) {
        open("integer")
        if integer.isNegative { output.append(0x2D) }
        output.append(decimal: integer.isNegative ? 0 &- integer.bits : integer.bits)
        close("integer")
    }

    /// Writes a number, which needs no escapes.
    private mutating func put(number: some CustomStringConvertible, as element: StaticString) {
        open(element)
        number.description.withBytes { output.append($0) }
        close(element)
    }

    private mutating func put(_ real: Double) {
        open("real")
        let text = real.isNaN ? "nan" : real.isInfinite ? (real < 0 ? "-infinity" : "+infinity") : real.description
        text.withBytes { output.append($0) }
        close("real")
    }

    private mutating func put(uid: UInt64, depth: Int) throws(PropertyListError) {
        // It reads as a dictionary, so the same limit of depth applies to it.
        guard depth < DecodingLimits.depth else { throw .tooDeep(at: nil) }
        put(line: "<dict>")
        indent(depth + 1)
        put(line: "<key>CF$UID</key>")
        indent(depth + 1)
        put(number: uid, as: "integer")
        indent(depth)
        put(line: "</dict>")
    }

    private mutating func put(_ data: Data, depth: Int) {
        put(line: "<data>")
        // Foundation's lines: at most 8 tabs, and 76 columns less 8 for each tab.
        let tabs = min(depth, 8)
        let lineSize = (76 - 8 * tabs) / 4 * 3
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: lineSize) {
                indent(min(depth, max(8, layout.depth)))
                output.append(base64: bytes[start..<min(start + lineSize, bytes.count)])
                endLine()
            }
        }
        indent(depth)
        put(line: "</data>")
    }

    private mutating func put(_ date: Date) throws(PropertyListError) {
        let seconds = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard let whole = Int64(exactly: seconds), Self.writableSeconds.contains(whole) else {
            throw PropertyListError(offset: nil, reason: "XML cannot hold a date outside the years 1 to 9999")
        }
        let date = CalendarDate(secondsSinceReference: whole)
        put("<date>" as StaticString)
        put(date.year / 100)
        put(date.year % 100)
        for (separator, number) in [
            (0x2D, date.month), (0x2D, date.day), (0x54, date.hour), (0x3A, date.minute), (0x3A, date.second),
        ] as [(UInt8, Int)] {
            output.append(separator)
            put(number)
        }
        put(line: "Z</date>")
    }

    /// The seconds from 0001-01-01 00:00:00 to 9999-12-31 23:59:59.
    private static let writableSeconds: ClosedRange<Int64> = -63_113_904_000...252_423_993_599

    /// Writes a number below 100 in two digits.
    private mutating func put(_ number: Int) {
        output.append(0x30 + UInt8(number / 10))
        output.append(0x30 + UInt8(number % 10))
    }

    private mutating func put(escaped text: String) throws(PropertyListError) {
        var text = text
        // Without a reference it would be read as a byte order mark.
        if text.unicodeScalars.first == "\u{FEFF}" {
            put("&#xFEFF;" as StaticString)
            text.unicodeScalars.removeFirst()
        }
        let refused = text.withBytes { text -> Int? in
            var (start, index) = (0, text.endOfPlainXML(from: 0))
            while index < text.count {
                let escape: StaticString?
                switch text[index] {
                case 0x26: escape = "&amp;"
                case 0x3C: escape = "&lt;"
                case 0x3E: escape = "&gt;"
                // Unescaped, a reader would treat it as the end of a line.
                case 0x0D: escape = "&#13;"
                case 0x09, 0x0A: escape = nil
                case 0xEF:
                    // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
                    if text[index + 1] == 0xBF, text[index + 2] >= 0xBE { return Int(text[index + 2]) - 0xBE + 0xFFFE }
                    escape = nil
                default: return Int(text[index])
                }
                if let escape {
                    output.append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
                    put(escape)
                    start = index + 1
                }
                index = text.endOfPlainXML(from: index + 1)
            }
            output.append(UnsafeRawBufferPointer(rebasing: text[start...]))
            return nil
        }
        if let refused {
            let name = "U+" + refused.padded(to: 4, radix: 16).uppercased()
            throw PropertyListError(offset: nil, reason: "XML cannot hold the character \(name); write the value as binary")
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The index of the first byte, at or after another one, that XML may not contain as it is; the end if there is none.
    ///
    /// Byte by byte, peers.libplist.xml.write.ascii takes 10 times as long.
    fileprivate func endOfPlainXML(from start: Int) -> Int {
        firstIndex(from: start) { word in
            word.bytesBelow(0x20) | word.bytesEqual(to: 0x26) | word.bytesEqual(to: 0x3C) | word.bytesEqual(to: 0x3E)
                | word.bytesEqual(to: 0xEF)
        }
    }
}
