import FoundationSubset

// Lines and their indentation: children are removed with their lines, and added in the style of the existing ones.
extension XMLEditor {
    /// Moves to a tag, and returns whether a line begins between it and an earlier offset.
    @discardableResult
    mutating func move(to tag: Int, after end: Int) -> Bool {
        guard let line = reader.bytes.line(of: tag, after: end) else { return false }
        self.line = line
        return true
    }

    /// The layout of a value at the last tag in a container.
    func layout(in frame: Frame, depth: Int) -> TextLayout {
        guard line.start > frame.tag.offset else { return .oneLine(depth: depth) }
        return TextLayout(depth: depth, margin: bytes(line.indentation), unit: unit(in: frame), lineEnding: lineEnding)
    }

    /// The indentation of the last child of a container, relative to the container.
    func unit(in frame: Frame) -> [UInt8] {
        let unit = frame.beginsLine ? reader.bytes.unit(of: frame.line.indentation, after: frame.margin) : nil
        return unit ?? frame.unit
    }

    private var lineEnding: [UInt8] {
        line.ending.isEmpty ? [0x0A] : bytes(line.ending)
    }

    private func bytes(_ range: Range<Int>) -> [UInt8] {
        Array(reader.bytes[range])
    }

    /// Removes the last child of a container, and its lines if they contain nothing else.
    mutating func remove(_ child: Range<Int>, from frame: Frame) {
        guard frame.beginsLine, frame.line.indentation.upperBound == child.lowerBound else {
            return changes.replace(frame.separator.lowerBound..<child.upperBound)
        }
        let end = reader.bytes.endOfSpaces(from: child.upperBound, before: reader.bytes.count)
        let next = reader.bytes.endOfLineEnding(at: end)
        changes.replace((next == end ? child.lowerBound : frame.line.start)..<next)
    }

    /// Adds children at the end of a container whose closing tag was read, or whose only tag is empty.
    mutating func add(
        _ children: [(key: String?, value: PropertyListValue)], to frame: Frame, before close: XMLTag, depth: Int
    ) throws(PropertyListError) {
        let beginsLine = move(to: close.offset, after: frame.end)
        guard !children.isEmpty else { return }
        let isFirst = frame.count == 0
        let isInline = isFirst ? frame.isOnLineOfParent : !frame.beginsLine
        var layout = TextLayout.oneLine(depth: depth)
        if isFirst ? !isInline : frame.line.start > frame.tag.offset {
            let unit = unit(in: frame)
            let margin = isFirst ? bytes(frame.margin) + unit : bytes(frame.line.indentation)
            layout = TextLayout(depth: depth, margin: margin, unit: unit, lineEnding: lineEnding)
        }
        let newLine = isInline ? [] : layout.lineEnding + layout.margin
        let separator = isInline && !isFirst ? short(frame.separator) : newLine
        var text = Data()
        for child in children {
            text += separator
            text += try XMLWriter.write(child.value, for: child.key, after: isFirst ? newLine : gap(in: frame, or: newLine), in: layout)
        }
        if frame.tag.isEmpty {
            var end = reader.bytes.startOfSpaces(before: frame.end - 2, after: frame.tag.offset)
            // The reader accepts several slashes, each of which makes the tag empty.
            while reader.bytes[end - 1] == 0x2F { end = reader.bytes.startOfSpaces(before: end - 1, after: frame.tag.offset) }
            text = Data(reader.bytes[frame.tag.offset..<end]) + Data([0x3E]) + text
            text += (isInline ? [] : layout.lineEnding + bytes(frame.margin)) + Array("</\(frame.tag.element.name)>".utf8)
            return changes.replace(frame.tag.offset..<frame.end, with: text)
        }
        if !isInline, beginsLine, line.indentation.upperBound == close.offset {
            // New lines precede that of the closing tag; the line of the last child may have been removed.
            return changes.replace(line.start..<line.start, with: text.dropFirst(layout.lineEnding.count) + layout.lineEnding)
        }
        if isFirst, !isInline, !beginsLine { text += layout.lineEnding + bytes(frame.margin) }
        let end = reader.bytes.startOfWhiteSpace(before: close.offset, after: frame.end)
        changes.replace(end..<end, with: text)
    }

    /// The text between the last key and its value if it is white space, and otherwise the given one.
    private func gap(in frame: Frame, or other: [UInt8]) -> [UInt8] {
        let gap = short(frame.gap)
        return gap.count == frame.gap.count && gap.allSatisfy { $0.isXMLSpace } ? gap : other
    }

    private func short(_ range: Range<Int>) -> [UInt8] {
        bytes(range.lowerBound..<min(range.upperBound, range.lowerBound + TextLine.longestWhiteSpace))
    }
}
