import FoundationSubset

/// Replaces the changed values of a JSON document in its text, and leaves all other bytes as they are.
///
/// Scans bytes that ``JSONReader`` has accepted, decodes keys only, and copies everything between the changes.
struct JSONEditor {
    var reader: JSONReader
    private var changes: [(range: Range<Int>, text: Data)] = []

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
        return editor.output()
    }

    private init(reader: JSONReader) {
        self.reader = reader
    }

    var bytes: ByteView { reader.bytes }

    private mutating func edit(
        _ entries: [String: PropertyListValue], _ edits: [String: PropertyListValue?], from start: Int
    ) throws(PropertyListError) -> Bool {
        try reader.skipSpace()
        guard reader.next == 0x7B else { return false }
        let margin =
            bytes.line(of: reader.offset, after: start)?.indentation ?? start..<bytes.endOfSpaces(from: start, before: reader.offset)
        var root = Frame(isDictionary: true, start: reader.offset, margin: margin)
        (root.entries, root.edits) = (entries, edits)
        reader.offset += 1
        var parents: [Frame] = []
        var frame = root
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
            let (old, edit) = frame.next(try startChild(of: &frame))
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
                change(child.value..<child.end, to: try JSONWriter.write(new, in: layout(in: frame, depth: parents.count + 1)))
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
        if frame.isDictionary {
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
        var frame = Frame(isDictionary: old?.isDictionary ?? false, start: reader.offset, margin: parent.line?.indentation ?? parent.margin)
        (frame.unit, frame.colon, frame.isOnLineOfParent) = (unit(in: parent), parent.colon, parent.line == nil)
        switch (old, new) {
        case (.dictionary(let old), .dictionary(let new)):
            frame.entries = old
            // Containers are compared child by child: comparing them here as well would take quadratic time.
            for (key, value) in new where value.isContainer || old[key] != value { frame.edits.updateValue(value, forKey: key) }
            for key in old.keys where new[key] == nil { frame.edits.updateValue(nil, forKey: key) }
        case (.array(let old), .array(let new)):
            guard old.count == new.count || zip(old, new).allSatisfy({ $0 == $1 }) else { return nil }
            (frame.elements, frame.newElements) = (old, new)
        default: return nil
        }
        return frame
    }

    // MARK: Output

    mutating func change(_ range: Range<Int>, to text: Data) {
        changes.append((range, text))
    }

    /// The bytes with the changes; where two ranges overlap, both are removed.
    private func output() -> Data {
        var output = OutputBuffer(capacity: bytes.count + bytes.count / 8)
        var done = 0
        let order = changes.indices.sorted { (changes[$0].range.lowerBound, $0) < (changes[$1].range.lowerBound, $1) }
        for (range, text) in order.map({ changes[$0] }) {
            if range.lowerBound > done { output.append(bytes[done..<range.lowerBound]) }
            text.withUnsafeBytes { output.append($0) }
            done = max(done, range.upperBound)
        }
        output.append(bytes[done..<bytes.count])
        return output.data()
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
        let isDictionary: Bool
        /// The offset of its opening bracket.
        let start: Int
        /// The indentation of the line of its bracket.
        let margin: Range<Int>
        /// The additional indentation of its children, if it cannot be derived from them, and what separates their keys from their values.
        var unit: [UInt8] = [0x20, 0x20]
        var colon: [UInt8] = [0x3A, 0x20]
        /// Whether it begins on the same line as its parent.
        var isOnLineOfParent = false
        /// The entries, and the edits that remain to be made.
        var entries: [String: PropertyListValue] = [:]
        var edits: [String: PropertyListValue?] = [:]
        /// The elements, and those that replace them.
        var elements: [PropertyListValue] = []
        var newElements: [PropertyListValue] = []
        /// The children that were read, and the last line that began before one.
        var children: [Child] = []
        var hasRemoved = false
        var line: TextLine?

        init(isDictionary: Bool, start: Int, margin: Range<Int>) {
            (self.isDictionary, self.start, self.margin) = (isDictionary, start, margin)
        }

        var closing: UInt8 { isDictionary ? 0x7D : 0x5D }

        /// Whether the rest of a dictionary, and what was read of it, remains.
        var isUnchanged: Bool { isDictionary && edits.isEmpty && !hasRemoved }

        /// The offset after the last comma or value.
        var end: Int { children.last.map { ($0.comma.map { $0 + 1 }) ?? $0.end } ?? start + 1 }

        /// The present value of the child that was read last, and its edit: nil if there is none, the inner nil if it is removed.
        mutating func next(_ key: String?) -> (value: PropertyListValue?, edit: PropertyListValue??) {
            if let key {
                guard let edit = edits.removeValue(forKey: key) else { return (nil, nil) }
                return (entries[key], edit)
            }
            let index = children.count - 1
            guard index < elements.count else { return (nil, nil) }
            guard index < newElements.count else { return (elements[index], .some(nil)) }
            // With other counts the common elements are equal.
            return (elements[index], elements.count == newElements.count ? .some(newElements[index]) : nil)
        }

        /// The children that follow the present ones, entries in the order of their keys.
        var additions: [(key: String?, value: PropertyListValue)] {
            guard isDictionary else { return newElements.dropFirst(children.count).map { (nil, $0) } }
            return edits.compactMap { key, value in value.map { (key, $0) } }.sorted { left, right in
                (left.0 ?? "").utf8.lexicographicallyPrecedes((right.0 ?? "").utf8)
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether it is a colon with little more than spaces around it.
    fileprivate var isPlainColon: Bool {
        count <= 16 && allSatisfy { $0 == 0x3A || $0 == 0x20 || $0 == 0x09 }
    }
}
