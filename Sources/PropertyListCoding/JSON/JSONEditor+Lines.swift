import FoundationSubset

// Commas and lines: children are removed with both, and added in the style of the existing ones.
extension JSONEditor {
    /// The layout of the last child of a container.
    func layout(in frame: Frame, depth: Int) -> TextLayout {
        layout(in: frame, margin: frame.line.map { text($0.indentation) }, depth: depth)
    }

    /// - Parameter margin: the indentation of the line on which the child begins; nil for one on the line of its container.
    private func layout(in frame: Frame, margin: [UInt8]?, depth: Int) -> TextLayout {
        guard let margin else { return .oneLine(depth: depth, colon: frame.colon) }
        return TextLayout(depth: depth, margin: margin, unit: unit(in: frame), lineEnding: lineEnding(in: frame), colon: frame.colon)
    }

    /// The indentation of the last line in a container, relative to the container.
    func unit(in frame: Frame) -> [UInt8] {
        frame.line.flatMap { bytes.unit(of: $0.indentation, after: frame.margin) } ?? frame.unit
    }

    /// The line ending in a container, or else that at the end of the line on which it begins.
    private func lineEnding(in frame: Frame) -> [UInt8] {
        if let line = frame.line { return text(line.ending) }
        guard let end = bytes.firstIndex(of: 0x0A, or: 0x0D, from: frame.start) else { return [0x0A] }
        return text(end..<bytes.endOfLineEnding(at: end))
    }

    private func text(_ range: Range<Int>) -> [UInt8] {
        Array(bytes[range])
    }

    // MARK: Removing

    /// Removes the children that are marked, and adds others at the end of a container.
    ///
    /// - Parameter close: the offset of the closing bracket.
    mutating func addAndRemove(in frame: Frame, before close: Int, depth: Int) throws(PropertyListError) {
        var children = frame.children
        var additions = frame.edits.additions(after: frame.children.count)[...]
        if !additions.isEmpty, let first = children.first, children.allSatisfy({ $0.isRemoved }), let (key, value) = additions.popFirst() {
            // In the place of the first child, the first addition has its comma and its comments.
            let layout = layout(in: frame, margin: first.line.map { text($0.indentation) }, depth: depth)
            changes.replace(first.start..<first.end, with: try JSONWriter.write(value, for: key, in: layout))
            children[0].isRemoved = false
        }
        let survivors = children.lastIndex { !$0.isRemoved }.map { $0 + 1 } ?? 0
        let survivor = survivors > 0 ? children[survivors - 1] : nil
        for (index, child) in children.enumerated() where child.isRemoved {
            // A line of additions ends the comment.
            let comments = index == children.count - 1 && additions.isEmpty ? survivor?.end ?? frame.start : nil
            remove(child, isLast: index >= survivors, before: close, afterCommentsFrom: comments)
        }
        guard let last = children.last else {
            if !additions.isEmpty { try fill(frame, with: additions, before: close, depth: depth) }
            return
        }
        if !additions.isEmpty, let survivor {
            try add(additions, to: frame, after: survivor, before: close, depth: depth)
        } else if last.isRemoved, last.comma == nil, let comma = survivor?.comma, let end = survivor?.end {
            // What was before the last child is the last one now.
            let beginsLine = bytes.line(of: comma, after: end).flatMap { $0.indentation.upperBound == comma ? $0 : nil }
            let next = bytes.endOfSpaces(from: last.end, before: close)
            let isAlone = survivors == children.count - 1 && text(last.anchor..<last.start).allSatisfy { $0.isXMLSpace }
            let isBeforeLineEnding = isAlone && bytes.endOfLineEnding(at: next) > next
            let keepsLine = !isBeforeLineEnding && hasLineComment(in: end..<comma)
            changes.replace((keepsLine ? comma : beginsLine?.ending.lowerBound ?? comma)..<comma + 1)
        }
    }

    /// - Parameters:
    ///   - isLast: whether no other child remains after it.
    ///   - comments: the offset from which comments remain on the lines before the child; nil if it does not matter how these lines end.
    private mutating func remove(_ child: Child, isLast: Bool, before close: Int, afterCommentsFrom comments: Int?) {
        var end = child.end
        if let comma = child.comma {
            if text(child.end..<comma).allSatisfy({ $0.isXMLSpace }) { end = comma + 1 } else { changes.replace(comma..<comma + 1) }
        }
        let next = bytes.endOfSpaces(from: end, before: close)
        let endsLine = next == close || bytes.endOfLineEnding(at: next) > next
        if let line = child.line, line.indentation.upperBound == child.start {
            if next == close {
                // The bracket must not become a part of a comment.
                let keepsLine = comments.map { hasLineComment(in: $0..<line.ending.lowerBound) } ?? false
                changes.replace((keepsLine ? line.start : line.ending.lowerBound)..<end)
            } else if endsLine {
                changes.replace(line.ending.lowerBound..<next)
            } else {
                changes.replace(child.start..<next)
            }
        } else if endsLine || isLast {
            changes.replace(bytes.startOfSpaces(before: child.start, after: child.anchor)..<end)
        } else {
            changes.replace(child.start..<next)
        }
    }

    /// Whether a comment in a range may end with its line; also true for the two slashes in another comment or in a string.
    private func hasLineComment(in range: Range<Int>) -> Bool {
        range.contains { bytes.has("//", at: $0) }
    }

    // MARK: Adding

    private mutating func add(
        _ additions: ArraySlice<(key: String?, value: PropertyListValue)>, to frame: Frame, after survivor: Child, before close: Int,
        depth: Int
    ) throws(PropertyListError) {
        guard let model = frame.children.last else { return }
        var (layout, before) = (layout(in: frame, margin: nil, depth: depth), [UInt8]())
        let position: Int
        if let line = model.line {
            layout = self.layout(in: frame, margin: text(line.indentation), depth: depth)
            before = layout.lineEnding + layout.margin
            position = endOfChildren(frame, before: close)
        } else {
            // Before comments, which may be about the last child.
            position = survivor.comma.map { $0 + 1 } ?? survivor.end
            let gap = model.anchor..<min(model.start, model.anchor + TextLine.longestWhiteSpace)
            before = frame.children.count > 1 && text(gap).allSatisfy({ $0 == 0x20 || $0 == 0x09 }) ? text(gap) : layout.space
        }
        if survivor.comma == nil { changes.replace(survivor.end..<survivor.end, with: [0x2C]) }
        var text = try members(additions, before: before, in: layout)
        if model.comma != nil { text.append(0x2C) }
        changes.replace(position..<position, with: text)
    }

    /// Adds the first children of a container.
    private mutating func fill(
        _ frame: Frame, with additions: ArraySlice<(key: String?, value: PropertyListValue)>, before close: Int, depth: Int
    ) throws(PropertyListError) {
        let start = frame.start + 1
        let beginsLine = bytes.line(of: close, after: start) != nil
        guard beginsLine || !frame.isOnLineOfParent else {
            let layout = layout(in: frame, margin: nil, depth: depth)
            let position = bytes.startOfSpaces(before: close, after: start)
            let members = try members(additions, before: layout.space, in: layout)
            // After a comment, a space is needed.
            return changes.replace(position..<close, with: position == start ? members.dropFirst(layout.space.count) : members)
        }
        let layout = layout(in: frame, margin: text(frame.margin) + frame.unit, depth: depth)
        var members = try members(additions, before: layout.lineEnding + layout.margin, in: layout)
        let position = endOfChildren(frame, before: close)
        if !beginsLine { members += layout.lineEnding + text(frame.margin) }
        changes.replace(position..<(beginsLine ? position : close), with: members)
    }

    /// The offset at which lines are added at the end of a container: the end of the line before its closing bracket, or else before the
    /// white space on its own line.
    private func endOfChildren(_ frame: Frame, before close: Int) -> Int {
        let start = bytes.startOfSpaces(before: close, after: frame.end)
        guard let line = bytes.line(of: close, after: frame.end), start == line.start else { return start }
        return line.ending.lowerBound
    }

    /// Text of children, with commas between them, and other text before each.
    private func members(
        _ members: ArraySlice<(key: String?, value: PropertyListValue)>, before: [UInt8], in layout: TextLayout
    ) throws(PropertyListError) -> Data {
        var text = Data()
        for (index, member) in members.enumerated() {
            if index > 0 { text.append(0x2C) }
            text += before
            text += try JSONWriter.write(member.value, for: member.key, in: layout)
        }
        return text
    }
}
