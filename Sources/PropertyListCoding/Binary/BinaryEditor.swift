import FoundationSubset

/// Sets and removes entries of a binary property list, and copies the others without decoding or encoding them.
///
/// The edits are encoded as a list of their own, from which the objects of new keys and values are taken. An object to which nothing refers
/// any more is left out; a new one takes its number and its place, or is added after all others. A list therefore does not grow by being
/// edited, except that equal leaves are shared only if they are Booleans or new. Without it, commit.1000 takes 1.09 times as long, and a
/// commit of 100,000 entries 7 times.
struct BinaryEditor: ~Copyable {
    /// What comes in the place of an object, or after all objects.
    ///
    /// The number is that of the new object, or of the one that is left out.
    typealias Patch = (range: Range<Int>, object: Int, content: Content)

    enum Content {
        case none
        /// An object of the edits.
        case edit(Int)
        /// The dictionary at the root.
        case root
    }

    /// Entries that are replaced, by position, and the objects of the one in their place.
    typealias EntryChange = (range: Range<Int>, entry: (key: Int, value: Int)?)

    let list: BinaryReader
    let edits: BinaryReader
    /// The keys of the root, and then its values.
    let entries: PackedIntegers
    let rootOffset: Int
    var references: BinaryReferences
    /// Objects to which nothing refers any more.
    var released: [Patch] = []
    /// Other numbers that no object has, or one to which nothing refers.
    var unused: [Int]
    /// The number in the new list of each object of the edits that is in it.
    var numbers: [Int?]
    var objectCount: Int
    var changes: [EntryChange] = []
    var patches: [Patch] = []

    /// The property list after edits of the root's entries; nil if it has to be written anew.
    ///
    /// - Parameter existing: how many of the edited entries exist, perhaps under equivalent names.
    static func edit(_ document: Data, _ edits: [String: PropertyListValue?], existing: Int) -> Data? {
        do throws(PropertyListError) {
            // An array with the value of an entry, or without one for an entry that is removed.
            let encoded = try BinaryWriter.write(.dictionary(edits.mapValues { .array($0.map { [$0] } ?? []) }))
            return try document.withBytes { (buffer) throws(PropertyListError) in
                try encoded.withBytes { (editBuffer) throws(PropertyListError) in
                    guard let bytes = ByteView(buffer), let editBytes = ByteView(editBuffer) else { return nil }
                    var editor = try BinaryEditor(bytes, editBytes)
                    guard try editor.isEditable(by: edits.count), try editor.changeEntries() == existing else { return nil }
                    try editor.addContents()
                    return try editor.output()
                }
            }
        } catch {
            // The list is damaged, or a value cannot be written.
            return nil
        }
    }

    private init(_ bytes: ByteView, _ editBytes: ByteView) throws(PropertyListError) {
        let (list, edits) = (try BinaryReader(bytes, isShared: false), try BinaryReader(editBytes, isShared: false))
        let rootOffset = try list.offset(of: list.root)
        let entries = try list.references(at: rootOffset)
        references = try BinaryReferences(in: list)
        (self.list, self.edits, self.rootOffset, self.entries) = (list, edits, rootOffset, entries)
        numbers = Array(repeating: nil, count: edits.objectCount)
        objectCount = list.objectCount
        let counts = references.counts.elements
        unused = counts.indices.filter { counts[$0] == 0 && $0 != list.root }
    }
}

// The objects that stay, are left out, and are added.
extension BinaryEditor {
    /// Whether the list can be edited, and a number of edits takes less than writing it anew.
    private func isEditable(by count: Int) throws(PropertyListError) -> Bool {
        guard list.bytes.has("bplist0", at: 0), list.isDictionary(at: rootOffset) else { return false }
        // Writing more anew takes about as long, and shares equal leaves; large ones take longer, and several times the memory.
        guard count <= 8 + max(entries.count / 16, list.bytes.count / 4096), try areKeysSorted() else { return false }
        // Other writers leave space between objects, or let them overlap; what overlaps an object that is left out is found by its end.
        return references.sizeOfObjects == list.objectsEnd - BinaryReader.headerSize
    }

    /// Whether a sample of the keys has the order of the writer: another list is written anew, so that it can be read lazily. A key is not
    /// found, and not edited, if others are not sorted.
    private func areKeysSorted() throws(PropertyListError) -> Bool {
        let count = entries.count / 2
        for index in stride(from: 1, to: count, by: 1 + count / 64) {
            guard try list.keyText(index - 1, in: entries) < list.keyText(index, in: entries) else { return false }
        }
        return true
    }

    /// Determines what replaces which entries, and returns how many of the edited ones were found.
    ///
    /// Positions that a binary search finds have the order of the edited keys, whatever that of the list.
    private mutating func changeEntries() throws(PropertyListError) -> Int {
        let count = entries.count / 2
        let keys = try edits.references(at: edits.offset(of: edits.root))
        var found = 0
        for index in 0..<keys.count / 2 {
            let key = try edits.object(index, in: keys)
            let wrapper = try edits.references(at: edits.offset(of: edits.object(keys.count / 2 + index, in: keys)))
            let value = wrapper.count == 0 ? nil : try edits.object(0, in: wrapper)
            let (position, isFound) = try list.position(of: edits.keyText(index, in: keys), in: entries)
            var change = EntryChange(position..<position + (isFound ? 1 : 0), nil)
            if isFound {
                found += 1
                let known = try list.object(position, in: entries)
                try release(list.object(count + position, in: entries))
                if let value { change.entry = (known, try number(of: value)) } else { try release(known) }
            } else if let value {
                change.entry = (try number(of: key), try number(of: value))
            }
            changes.append(change)
        }
        return found
    }

    /// Removes a reference to an object, and leaves the object out if there is no other one.
    private mutating func release(_ object: Int) throws(PropertyListError) {
        var pending = [object]
        while let object = pending.popLast() {
            let offset = try list.offset(of: object)
            let end = references.ends[object]
            guard references.counts[object] > 0, end > offset else { throw .cutShort(offset) }
            references.counts[object] -= 1
            guard references.counts[object] == 0 else { continue }
            released.append((offset..<end, object, .none))
            guard list.isContainer(at: offset) else { continue }
            let children = try list.references(at: offset)
            for index in 0..<children.count { pending.append(try list.object(index, in: children)) }
        }
    }

    /// The number in the new list of an object of the edits, which is added if it is not there yet.
    private mutating func number(of object: Int) throws(PropertyListError) -> Int {
        if let number = numbers[object] { return number }
        let marker = edits.bytes[try edits.offset(of: object)]
        let number: Int
        if marker & ~1 == 0x08, let known = references.booleans[Int(marker & 1)], references.counts[known] > 0 {
            number = known
            references.counts[known] += 1
        } else if let place = released.popLast() {
            number = place.object
            patches.append((place.range, number, .edit(object)))
        } else {
            number = unusedNumber()
            patches.append((list.objectsEnd..<list.objectsEnd, number, .edit(object)))
        }
        numbers[object] = number
        return number
    }

    /// Adds what is in the containers that were added.
    private mutating func addContents() throws(PropertyListError) {
        var next = 0
        while next < patches.count {
            if case .edit(let object) = patches[next].content {
                let offset = try edits.offset(of: object)
                if edits.isContainer(at: offset) {
                    let children = try edits.references(at: offset)
                    for index in 0..<children.count { _ = try number(of: edits.object(index, in: children)) }
                }
            }
            next += 1
        }
    }

    private mutating func unusedNumber() -> Int {
        if let number = unused.popLast() { return number }
        defer { objectCount += 1 }
        return objectCount
    }
}
