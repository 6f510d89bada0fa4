import FoundationSubset

/// Replaces the changed elements of an XML property list in its text, and leaves all other bytes as they are.
///
/// Scans bytes that ``XMLReader`` has accepted, decodes keys only, and copies everything between the changes.
struct XMLEditor {
    var reader: XMLReader
    var changes = TextChanges()
    /// The line of the last tag.
    var line: TextLine

    /// The text of a document after edits of the dictionary at its root: the value of each entry that is set, nil for one that is removed.
    ///
    /// Returns nil if a key is repeated in one of the changed dictionaries: the reader uses the later entry, and ignores the others.
    ///
    /// - Parameter entries: the entries that ``XMLReader`` has read from the bytes.
    static func text(
        of bytes: ByteView, from start: Int, after edits: [String: PropertyListValue?], of entries: [String: PropertyListValue]
    ) throws(PropertyListError) -> Data? {
        var editor = XMLEditor(bytes, from: start)
        guard try editor.edit(entries, edits) else { return nil }
        return editor.changes.applied(to: bytes)
    }

    private init(_ bytes: ByteView, from start: Int) {
        reader = XMLReader(bytes, from: start)
        line = TextLine(start: start, indentation: start..<start, ending: start..<start)
    }

    private mutating func edit(
        _ entries: [String: PropertyListValue], _ edits: [String: PropertyListValue?]
    ) throws(PropertyListError) -> Bool {
        let root = try reader.readRootTag().root
        move(to: root.offset, after: line.start)
        guard root.element == .dictionary else { return false }
        var parents: [Frame] = []
        var frame = Frame(root, ContainerEdits(of: entries, edits), end: reader.offset, line: line)
        while true {
            if !frame.tag.isEmpty { try reader.skipBetweenTags() }
            let tag = frame.tag.isEmpty ? frame.tag : try reader.readTag()
            if tag.isClosing || frame.tag.isEmpty {
                // Otherwise a key is repeated.
                guard frame.count == frame.edits.count else { return false }
                try add(frame.edits.additions(after: frame.count), to: frame, before: tag, depth: parents.count + 1)
                if parents.isEmpty { return true }
                frame = parents.removeLast()
                frame.end = reader.offset
                continue
            }
            let (value, key) = try open(tag, in: &frame)
            let (old, edit) = frame.edits.next(key, at: frame.count)
            frame.count += 1
            if case .some(.some(let new)) = edit, let inner = self.frame(of: value, in: frame, from: old, to: new) {
                parents.append(frame)
                frame = inner
                continue
            }
            try reader.skipElement(value)
            defer { frame.end = reader.offset }
            switch edit {
            case nil: break
            case .some(nil): remove(tag.offset..<reader.offset, from: frame)
            case .some(let new?) where old != new:
                let text = try XMLWriter.write(new, in: layout(in: frame, depth: parents.count + 1))
                changes.replace(value.offset..<reader.offset, with: text)
            default: break
            }
        }
    }

    /// Records the start of a child, given its first tag; for an entry, reads its key and the tag of its value.
    private mutating func open(_ tag: XMLTag, in frame: inout Frame) throws(PropertyListError) -> (value: XMLTag, key: String?) {
        frame.separator = reader.bytes.startOfSpaces(before: tag.offset, after: frame.end)..<tag.offset
        frame.beginsLine = move(to: tag.offset, after: frame.end)
        frame.line = line
        guard frame.edits.isDictionary else { return (tag, nil) }
        let key = try reader.string(tag)
        let keyEnd = reader.offset
        try reader.skipBetweenTags()
        let value = try reader.readTag()
        frame.gap = keyEnd..<value.offset
        move(to: value.offset, after: keyEnd)
        return (value, key)
    }

    private func frame(of tag: XMLTag, in parent: Frame, from old: PropertyListValue?, to new: PropertyListValue) -> Frame? {
        // Of a repeated key, another value may be of another type.
        guard let edits = ContainerEdits(from: old, to: new), tag.element == (edits.isDictionary ? .dictionary : .array) else { return nil }
        var frame = Frame(tag, edits, end: reader.offset, line: line)
        frame.unit = unit(in: parent)
        frame.isOnLineOfParent = line.start <= parent.tag.offset
        return frame
    }
}

extension XMLEditor {
    /// A container that may change, and whose children are being read.
    struct Frame {
        let tag: XMLTag
        var edits: ContainerEdits
        /// The indentation of the line of its tag.
        let margin: Range<Int>
        /// The additional indentation of its children, if it cannot be derived from them.
        var unit: [UInt8] = [0x09]
        /// Whether it begins on the same line as its parent.
        var isOnLineOfParent = false

        /// The number of children that were read, and the offset after the last one.
        var count = 0
        var end: Int
        /// The line on which the last child begins, and whether it begins the line.
        var line: TextLine
        var beginsLine = false
        /// The text before the last child, and that between its key and its value.
        var separator = 0..<0
        var gap = 0..<0

        init(_ tag: XMLTag, _ edits: ContainerEdits, end: Int, line: TextLine) {
            (self.tag, self.edits, self.end, self.line, margin) = (tag, edits, end, line, line.indentation)
        }
    }
}

extension XMLReader {
    /// Moves past an element whose opening tag was read, without decoding it.
    mutating func skipElement(_ tag: XMLTag) throws(PropertyListError) {
        var tag = tag
        var depth = 0
        while true {
            switch tag.element {
            case _ where tag.isClosing: depth -= 1
            case _ where tag.isEmpty: break
            case .dictionary, .array: depth += 1
            case .yes, .no:
                try skipBetweenTags()
                _ = try readTag()
            default: try text(of: tag) { _ in }
            }
            guard depth > 0 else { return }
            try skipBetweenTags()
            tag = try readTag()
        }
    }
}
