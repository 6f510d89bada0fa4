import FoundationSubset

/// Replaces the changed elements of an XML property list in its text, and leaves all other bytes as they are.
///
/// Scans bytes that ``XMLReader`` has accepted, decodes keys only, and copies everything between the changes.
struct XMLEditor: ~Copyable {
    var reader: XMLReader
    private var output: OutputBuffer
    /// The offset up to which the bytes were copied, replaced or removed.
    private var done = 0
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
        editor.replace(bytes.count..<bytes.count, with: Data())
        return editor.output.data()
    }

    private init(_ bytes: ByteView, from start: Int) {
        reader = XMLReader(bytes, from: start)
        output = OutputBuffer(capacity: bytes.count + bytes.count / 8)
        line = TextLine(start: start, indentation: start..<start, ending: start..<start)
    }

    private mutating func edit(
        _ entries: [String: PropertyListValue], _ edits: [String: PropertyListValue?]
    ) throws(PropertyListError) -> Bool {
        let root = try readRoot()
        guard root.element == .dictionary else { return false }
        var parents: [Frame] = []
        var frame = Frame(root, end: reader.offset, line: line)
        (frame.entries, frame.edits) = (entries, edits)
        while true {
            if !frame.tag.isEmpty { try reader.skipBetweenTags() }
            let tag = frame.tag.isEmpty ? frame.tag : try reader.readTag()
            if tag.isClosing || frame.tag.isEmpty {
                guard frame.isComplete else { return false }
                try add(frame.additions, to: frame, before: tag, depth: parents.count + 1)
                guard let parent = parents.popLast() else { return true }
                frame = parent
                frame.end = reader.offset
                continue
            }
            let (value, key) = try open(tag, in: &frame)
            let (old, edit) = frame.next(key)
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
                replace(value.offset..<reader.offset, with: text)
            default: break
            }
        }
    }

    private mutating func readRoot() throws(PropertyListError) -> XMLTag {
        repeat { try reader.skipBetweenTags() } while try reader.skipDocumentType()
        var tag = try reader.readTag()
        if tag.element == .plist {
            try reader.skipBetweenTags()
            tag = try reader.readTag()
        }
        move(to: tag.offset, after: line.start)
        return tag
    }

    /// Records the start of a child, given its first tag; for an entry, reads its key and the tag of its value.
    private mutating func open(_ tag: XMLTag, in frame: inout Frame) throws(PropertyListError) -> (value: XMLTag, key: String?) {
        frame.separator = reader.bytes.startOfSpaces(before: tag.offset, after: frame.end)..<tag.offset
        frame.beginsLine = move(to: tag.offset, after: frame.end)
        frame.line = line
        guard frame.isDictionary else { return (tag, nil) }
        let key = try reader.string(tag)
        let keyEnd = reader.offset
        try reader.skipBetweenTags()
        let value = try reader.readTag()
        frame.gap = keyEnd..<value.offset
        move(to: value.offset, after: keyEnd)
        return (value, key)
    }

    private func frame(of tag: XMLTag, in parent: Frame, from old: PropertyListValue?, to new: PropertyListValue) -> Frame? {
        var frame = Frame(tag, end: reader.offset, line: line)
        frame.unit = unit(in: parent)
        frame.isOnLineOfParent = line.start <= parent.tag.offset
        switch (old, new, tag.element) {
        case (.dictionary(let old), .dictionary(let new), .dictionary):
            frame.entries = old
            // Containers are compared child by child: comparing them here as well would take quadratic time.
            for (key, value) in new where value.isContainer || old[key] != value { frame.edits.updateValue(value, forKey: key) }
            for key in old.keys where new[key] == nil { frame.edits.updateValue(nil, forKey: key) }
        case (.array(let old), .array(let new), .array):
            guard old.count == new.count || zip(old, new).allSatisfy({ $0 == $1 }) else { return nil }
            (frame.elements, frame.newElements) = (old, new)
        default: return nil
        }
        return frame
    }

    /// Replaces a range of the bytes, or the rest of it if its beginning was removed.
    mutating func replace(_ range: Range<Int>, with text: Data) {
        if range.lowerBound > done { output.append(reader.bytes[done..<range.lowerBound]) }
        text.withUnsafeBytes { output.append($0) }
        done = max(done, range.upperBound)
    }
}

extension XMLEditor {
    /// A container that may change, and whose children are being read.
    struct Frame {
        let tag: XMLTag
        /// The indentation of the line of its tag.
        let margin: Range<Int>
        /// The additional indentation of its children, if it cannot be derived from them.
        var unit: [UInt8] = [0x09]
        /// Whether it begins on the same line as its parent.
        var isOnLineOfParent = false
        /// The entries, and the edits that remain to be made.
        var entries: [String: PropertyListValue] = [:]
        var edits: [String: PropertyListValue?] = [:]
        /// The elements, and those that replace them.
        var elements: [PropertyListValue] = []
        var newElements: [PropertyListValue] = []

        /// The number of children that were read, and the offset after the last one.
        private(set) var count = 0
        var end: Int
        /// The line on which the last child begins, and whether it begins the line.
        var line: TextLine
        var beginsLine = false
        /// The text before the last child, and that between its key and its value.
        var separator = 0..<0
        var gap = 0..<0

        init(_ tag: XMLTag, end: Int, line: TextLine) {
            (self.tag, self.end, self.line, margin) = (tag, end, line, line.indentation)
        }

        var isDictionary: Bool { tag.element == .dictionary }

        /// The present value of the next child, and its edit: nil if there is none, the inner nil if it is removed.
        mutating func next(_ key: String?) -> (value: PropertyListValue?, edit: PropertyListValue??) {
            defer { count += 1 }
            if let key { return (entries[key], edits.removeValue(forKey: key)) }
            guard count < elements.count else { return (nil, nil) }
            guard count < newElements.count else { return (elements[count], .some(nil)) }
            // With other counts the common elements are equal.
            return (elements[count], elements.count == newElements.count ? .some(newElements[count]) : nil)
        }

        /// Whether as many children were read as there are, so that no key is repeated.
        var isComplete: Bool { count == (isDictionary ? entries.count : elements.count) }

        /// The children that follow the present ones, entries in the order of their keys.
        var additions: [(key: String?, value: PropertyListValue)] {
            guard isDictionary else { return newElements.dropFirst(count).map { (nil, $0) } }
            return edits.compactMap { key, value in value.map { (key, $0) } }.sorted { left, right in
                (left.0 ?? "").utf8.lexicographicallyPrecedes((right.0 ?? "").utf8)
            }
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
