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
        guard let start = startOfLine(at: offset, after: earlier) else { return nil }
        let isLong = start - earlier > 1 && self[start - 2] == 0x0D && self[start - 1] == 0x0A
        let limit = min(offset, start + TextLine.longestWhiteSpace)
        return TextLine(
            start: start, indentation: start..<endOfSpaces(from: start, before: limit), ending: start - (isLong ? 2 : 1)..<start)
    }

    /// The offset at which the line of a byte begins, if that is after an earlier offset.
    private func startOfLine(at offset: Int, after earlier: Int) -> Int? {
        var index = offset
        while index > earlier {
            if self[index - 1] == 0x0A || self[index - 1] == 0x0D { return index }
            index -= 1
        }
        return nil
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
