import FoundationSubset

/// Replaces the changed values of a JSON document in its text, and leaves all other bytes as they are.
///
/// Scans bytes that ``JSONReader`` has accepted, decodes keys only, and copies everything between the changes.
struct JSONEditor {
    var reader: JSONReader
    var changes = TextChanges()

    /// The text of a document after edits of the dictionary at its root: the value of each entry that is set, nil for one that is removed.
    ///
    /// Returns nil if the root is no dictionary.
    ///
    /// - Parameter entries: the entries that ``JSONReader`` has read from the bytes.
    static func text(
        of bytes: ByteView, from start: Int, after edits: [String: PropertyListValue?], of entries: [String: PropertyListValue]
    ) throws(PropertyListError) -> Data? {
        var editor = JSONEditor(reader: JSONReader(bytes, from: start))
        guard try editor.edit(entries, edits, from: start) else { return nil }
        return editor.changes.applied(to: bytes)
    }

    var bytes: ByteView { reader.bytes }

    private mutating func edit(
        _ entries: [String: PropertyListValue], _ edits: [String: PropertyListValue?], from start: Int
    ) throws(PropertyListError) -> Bool {
        try reader.skipSpace()
        guard reader.next == 0x7B else { return false }
        let margin =
            bytes.line(of: reader.offset, after: start)?.indentation ?? start..<bytes.endOfSpaces(from: start, before: reader.offset)
        var frame = Frame(ContainerEdits(of: entries, edits), start: reader.offset, margin: margin)
        reader.offset += 1
        var parents: [Frame] = []
        // If the root has no more edits, the rest of the text remains.
        while !frame.isUnchanged || !parents.isEmpty {
            try reader.skipSpace()
            if reader.next == frame.closing {
                try addAndRemove(in: frame, before: reader.offset, depth: parents.count + 1)
                reader.offset += 1
                if parents.isEmpty { break }
                // Moved: a copy beside it would make the next change copy all children.
                frame = parents.removeLast()
                try endChild(of: &frame)
                continue
            }
            let key = try startChild(of: &frame)
            let (old, edit) = frame.edits.next(key, at: frame.children.count - 1)
            if case .some(.some(let new)) = edit, let inner = self.frame(in: frame, from: old, to: new) {
                reader.offset += 1
                parents.append(frame)
                frame = inner
                continue
            }
            try reader.skipValue()
            try endChild(of: &frame)
            switch edit {
            // A member that is null was no entry before.
            case .some(nil) where old != nil:
                frame.children[frame.children.count - 1].isRemoved = true
                frame.hasRemoved = true
            case .some(let new?) where old != new:
                let child = frame.children[frame.children.count - 1]
                let text = try JSONWriter.write(new, in: layout(in: frame, depth: parents.count + 1))
                changes.replace(child.value..<child.end, with: text)
            default: break
            }
        }
        return true
    }

    /// Reads up to the value of a child, and returns the key of a member.
    private mutating func startChild(of frame: inout Frame) throws(PropertyListError) -> String? {
        var child = Child(after: frame.end, start: reader.offset)
        child.line = bytes.line(of: child.start, after: child.anchor)
        frame.line = child.line ?? frame.line
        var key: String?
        if frame.edits.isDictionary {
            key = try reader.string()
            let end = reader.offset
            try reader.skipColon()
            try reader.skipSpace()
            if bytes[end..<reader.offset].isPlainColon { frame.colon = Array(bytes[end..<reader.offset]) }
        }
        child.value = reader.offset
        frame.children.append(child)
        return key
    }

    /// Records the end of a child, and the comma after it.
    private mutating func endChild(of frame: inout Frame) throws(PropertyListError) {
        let end = reader.offset
        frame.children[frame.children.count - 1].end = end
        try reader.skipSpace()
        guard reader.next == 0x2C else { return }
        frame.children[frame.children.count - 1].comma = reader.offset
        reader.offset += 1
    }

    /// The frame of the value that comes next, if it is a container that remains with other children; nil if it is replaced.
    private func frame(in parent: Frame, from old: PropertyListValue?, to new: PropertyListValue) -> Frame? {
        guard let edits = ContainerEdits(from: old, to: new) else { return nil }
        var frame = Frame(edits, start: reader.offset, margin: parent.line?.indentation ?? parent.margin)
        (frame.unit, frame.colon, frame.isOnLineOfParent) = (unit(in: parent), parent.colon, parent.line == nil)
        return frame
    }
}

extension JSONEditor {
    /// An element, or a member of an object.
    struct Child {
        /// The offset after the comma or bracket before it.
        let anchor: Int
        let start: Int
        /// The offsets of its value, and after that.
        var value: Int
        var end: Int
        /// The comma after it.
        var comma: Int?
        /// The line that it begins, apart from comments.
        var line: TextLine?
        var isRemoved = false

        init(after anchor: Int, start: Int) {
            (self.anchor, self.start, value, end) = (anchor, start, start, start)
        }
    }

    /// A container that may change, and whose children are being read.
    struct Frame {
        var edits: ContainerEdits
        /// The offset of its opening bracket.
        let start: Int
        /// The indentation of the line of its bracket.
        let margin: Range<Int>
        /// The additional indentation of its children, if it cannot be derived from them, and what separates their keys from their values.
        var unit: [UInt8] = [0x20, 0x20]
        var colon: [UInt8] = [0x3A, 0x20]
        /// Whether it begins on the same line as its parent.
        var isOnLineOfParent = false
        /// The children that were read, and the last line that began before one.
        var children: [Child] = []
        var hasRemoved = false
        var line: TextLine?

        init(_ edits: ContainerEdits, start: Int, margin: Range<Int>) {
            (self.edits, self.start, self.margin) = (edits, start, margin)
        }

        var closing: UInt8 { edits.isDictionary ? 0x7D : 0x5D }

        /// Whether the rest of a dictionary, and what was read of it, remains.
        var isUnchanged: Bool { edits.isDone && !hasRemoved }

        /// The offset after the last comma or value.
        var end: Int { children.last.map { ($0.comma.map { $0 + 1 }) ?? $0.end } ?? start + 1 }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether it is a colon with little more than spaces around it.
    fileprivate var isPlainColon: Bool {
        count <= 16 && allSatisfy { $0 == 0x3A || $0 == 0x20 || $0 == 0x09 }
    }
}
