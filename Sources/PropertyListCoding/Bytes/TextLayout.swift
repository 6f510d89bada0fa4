/// The white space between the values of a text: by default that of a new file, and otherwise that of the document to which a value is added.
struct TextLayout {
    /// The number of containers around the value.
    var depth = 0
    /// The white space at the beginning of the line on which the value starts.
    var margin: [UInt8] = []
    /// The additional white space for each container inside.
    var unit: [UInt8] = [0x20, 0x20]
    /// What separates lines; empty for everything on one line.
    var lineEnding: [UInt8] = [0x0A]
    /// What separates a key of JSON from its value.
    var colon: [UInt8] = [0x3A, 0x20]

    static func oneLine(depth: Int = 0, colon: [UInt8] = [0x3A]) -> TextLayout {
        TextLayout(depth: depth, unit: [], lineEnding: [], colon: colon)
    }

    /// What follows a comma of JSON on the same line: a space if there is one before values.
    var space: [UInt8] { colon.last == 0x20 && lineEnding.isEmpty ? [0x20] : [] }
}

/// The beginnings of lines in a layout.
struct LineStarts: ~Copyable {
    private let layout: TextLayout
    /// The line ending, the margin and the deepest indentation; not an array, because each use of it would be retained.
    private var bytes: OutputBuffer

    // Full indentation would multiply the size of a deep container by its depth.
    private static let maximumDepth = 16

    init(in layout: TextLayout) {
        self.layout = layout
        bytes = OutputBuffer(capacity: 64)
        let units = repeatElement(layout.unit, count: Self.maximumDepth).joined()
        for byte in layout.lineEnding + layout.margin + units { bytes.append(byte) }
    }

    /// A line ending, and the indentation in a number of containers; nothing in a layout of one line.
    func bytes(depth: Int) -> UnsafeRawBufferPointer {
        let size = layout.lineEnding.count + layout.margin.count + layout.unit.count * min(depth - layout.depth, Self.maximumDepth)
        return bytes.bytes(from: 0, to: size)
    }
}

/// A line of a text document, for edits that keep its layout.
struct TextLine {
    // Longer white space is not repeated, because the document could grow to a multiple of its size.
    static let longestWhiteSpace = 256

    var start: Int
    /// The white space at its beginning.
    var indentation: Range<Int>
    /// The line ending before it; empty for the first line.
    var ending: Range<Int>
}

extension ByteView {
    /// The line on which a byte is, if it begins after an earlier offset.
    func line(of offset: Int, after earlier: Int) -> TextLine? {
        guard earlier < offset, let end = self[earlier..<offset].lastIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return nil }
        let start = earlier + end + 1
        let isLong = start - earlier > 1 && self[start - 2] == 0x0D && self[start - 1] == 0x0A
        let limit = min(offset, start + TextLine.longestWhiteSpace)
        return TextLine(
            start: start, indentation: start..<endOfSpaces(from: start, before: limit), ending: start - (isLong ? 2 : 1)..<start)
    }

    /// The white space by which an indentation is longer than that of the container's line; nil if it does not begin with it.
    func unit(of indentation: Range<Int>, after margin: Range<Int>) -> [UInt8]? {
        guard indentation.count > margin.count, self[indentation].starts(with: self[margin]) else { return nil }
        return Array(self[indentation.dropFirst(margin.count)])
    }

    /// The offset after the spaces and tabs from an offset on.
    func endOfSpaces(from offset: Int, before end: Int) -> Int {
        var index = offset
        while index < end, self[index] == 0x20 || self[index] == 0x09 { index += 1 }
        return index
    }

    /// The offset of the spaces and tabs before an offset.
    func startOfSpaces(before offset: Int, after start: Int) -> Int {
        var index = offset
        while index > start, self[index - 1] == 0x20 || self[index - 1] == 0x09 { index -= 1 }
        return index
    }

    /// The offset of the white space before an offset.
    func startOfWhiteSpace(before offset: Int, after start: Int) -> Int {
        var index = offset
        while index > start, self[index - 1].isXMLSpace { index -= 1 }
        return index
    }

    /// The offset after a line ending, or the offset itself if there is none.
    func endOfLineEnding(at offset: Int) -> Int {
        guard offset < count else { return offset }
        if has("\r\n", at: offset) { return offset + 2 }
        return self[offset] == 0x0A || self[offset] == 0x0D ? offset + 1 : offset
    }
}
