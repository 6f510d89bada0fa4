import Foundation

/// Reads a binary property list.
///
/// An object is decoded twice at most and then shared wherever it is referred to, so memory stays linear; how large the value would
/// be written out, and how deep, is counted along the way.
struct BinaryReader {
    let bytes: ByteView
    let trailer: BinaryTrailer
    /// Where each object begins.
    let offsets: NumberRow
    /// How many bytes of text, data and references may still be read; only objects that overlap have more of them.
    var allowance: Int
    /// What is known of each object.
    private var marks: [Mark]
    /// The containers, texts and data that were met a second time.
    private var kept: [Node] = []
    /// What long texts and data count for beyond the one unit that every leaf does, until it is counted for the container they stand in.
    private var longUnits = 0
    let limit: Int

    init(_ bytes: ByteView) throws(PropertyListError) {
        self.bytes = bytes
        trailer = try BinaryTrailer(of: bytes)
        offsets = NumberRow(in: bytes, from: trailer.table, size: trailer.offsetSize, count: trailer.objectCount)
        marks = Array(repeating: .unmet, count: trailer.objectCount)
        // Twice the objects, because UTF-16 grows by half when it becomes UTF-8, and a container may be read twice.
        allowance = trailer.table.saturatingSum(trailer.table).saturatingSum(1024)
        limit = Bounds.units(forInput: bytes.count)
    }

    /// Decodes the root.
    mutating func read() throws(PropertyListError) -> PropertyListValue {
        try value(of: trailer.root, inside: 0).value
    }

    /// Decodes an object that stands inside so many containers.
    mutating func value(of object: Int, inside outer: Int) throws(PropertyListError) -> Node {
        if let node = keptNode(object) { return node }
        let offset = try place(of: object)
        guard isContainer(at: offset) else {
            let leaf = try leaf(object, at: offset)
            return Node(value: leaf, units: Bounds.units(of: leaf), height: 0)
        }
        longUnits = 0
        var parents: [Frame] = []
        var frame = try open(object)
        while true {
            let depth = outer + parents.count + 1
            if let child = try fill(&frame, depth: depth) {
                parents.append(consume frame)
                frame = child
            } else {
                let (value, units, height) = (close(&frame), frame.units, frame.height)
                if parents.isEmpty { return Node(value: value, units: units, height: height) }
                // Moved, not bound to a name first: a second reference would make each further child copy those before it.
                frame = parents.removeLast()
                try add(value, units: units, height: height, to: &frame, depth: depth - 1)
            }
        }
    }

    /// Takes note that a text or data is met, and of its value when it is met again, as of a container's: few are, and to keep all of
    /// them would cost more than to decode some twice.
    mutating func meet(_ object: Int, _ leaf: PropertyListValue, size: Int, at offset: Int) throws(PropertyListError) {
        count(longLeaf: size)
        if marks[object] == .unmet {
            try charge(size, for: offset)
            marks[object] = .met
        } else {
            keep(Node(value: leaf, units: Bounds.units(ofLeaf: size), height: 0), for: object)
        }
    }

    /// The value of an object, if it is kept.
    private func keptNode(_ object: Int) -> Node? {
        marks[object].place.map { kept[$0] }
    }

    /// The text of an object that is kept.
    mutating func keptText(_ object: Int) -> String? {
        guard let node = keptNode(object), case .string(let text) = node.value else { return nil }
        count(longLeaf: text.utf8.count)
        return text
    }

    /// The data of an object that is kept.
    mutating func keptData(_ object: Int) -> Data? {
        guard let node = keptNode(object), case .data(let data) = node.value else { return nil }
        count(longLeaf: data.count)
        return data
    }

    private mutating func count(longLeaf size: Int) {
        longUnits = longUnits.saturatingSum(Bounds.units(ofLeaf: size) - 1)
    }
}

extension BinaryReader {
    /// What is known of an object: nothing, that it was read, that it is a container being read, or where it is kept.
    private struct Mark: Equatable {
        private let state: UInt32

        static var unmet: Mark { Mark(state: .max) }
        static var met: Mark { Mark(state: .max - 1) }
        /// Referring to the object now is a cycle.
        static var open: Mark { Mark(state: .max - 2) }

        static func kept(at place: Int) -> Mark { Mark(state: UInt32(place)) }

        var place: Int? { state < Mark.open.state ? Int(state) : nil }
    }

    /// A value, and how large and deep it is when everything shared in it is written out.
    struct Node {
        let value: PropertyListValue
        let units: Int
        let height: Int32
    }

    /// A container of which some children are read.
    private struct Frame {
        let object: Int
        let offset: Int
        let count: Int
        /// Those of its keys, if it has any, and behind them those of its children.
        let references: NumberRow
        let isDictionary: Bool
        /// Whether it was read before, and is to be kept this time.
        let isMet: Bool
        var height: Int32 = 1
        /// Those of its keys and children, one each until more is known.
        var units: Int
        var next = 0
        var elements: [PropertyListValue]
        var entries: EntryCollector

        /// The value of the container, which is moved out of here, since copying it takes as long as a child.
        mutating func takeValue() -> PropertyListValue {
            if isDictionary { return .dictionary(entries.take()) }
            var taken: [PropertyListValue] = []
            swap(&taken, &elements)
            return .array(taken)
        }
    }

    private mutating func open(_ object: Int) throws(PropertyListError) -> Frame {
        let offset = try place(of: object)
        let isDictionary = bytes[offset] >> 4 == 0xD
        let width = trailer.referenceSize * (isDictionary ? 2 : 1)
        let (count, start) = try payload(at: offset, width: width)
        try charge(count * width, for: offset)
        let references = references(at: start, count: isDictionary ? count * 2 : count)
        let isMet = marks[object] == .met
        marks[object] = .open
        var elements: [PropertyListValue] = []
        if !isDictionary { elements.reserveCapacity(count) }
        return Frame(
            object: object, offset: offset, count: count, references: references, isDictionary: isDictionary, isMet: isMet,
            units: 1 + references.count, elements: elements,
            entries: isDictionary ? EntryCollector(count: count, areKeysDistinct: keysAscend(references, count: count)) : EntryCollector())
    }

    /// Takes the value of a container that is read.
    private mutating func close(_ frame: inout Frame) -> PropertyListValue {
        let value = frame.takeValue()
        if frame.isMet {
            keep(Node(value: value, units: frame.units, height: frame.height), for: frame.object)
        } else {
            marks[frame.object] = .met
        }
        return value
    }

    private mutating func keep(_ node: consuming Node, for object: Int) {
        marks[object] = .kept(at: kept.count)
        kept.append(node)
    }

    /// Reads children until there are none left, or one holds a container that has to be read first, and returns that child.
    private mutating func fill(_ frame: inout Frame, depth: Int) throws(PropertyListError) -> Frame? {
        while let object = try fillLeaves(of: &frame, depth: depth) {
            guard marks[object] != .open else { throw PropertyListError(offset: frame.offset, reason: "a container contains itself") }
            guard depth < Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
            var child = try open(object)
            if try fillLeaves(of: &child, depth: depth + 1) != nil { return child }
            try add(close(&child), units: child.units, height: child.height, to: &frame, depth: depth)
        }
        return nil
    }

    /// Reads children until there are none left, or one is a container that is not kept, and returns that.
    private mutating func fillLeaves(of frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        let container = frame.isDictionary ? try fillEntries(of: &frame, depth: depth) : try fillElements(of: &frame, depth: depth)
        // Among them is the key of a container that was added before.
        frame.units = frame.units.saturatingSum(longUnits)
        longUnits = 0
        guard frame.units <= limit else { throw .tooLarge(at: frame.offset, of: bytes.count) }
        return container
    }

    // Nearly the same twice: to ask for each child which kind of container it is in would cost more than the child's reference.
    private mutating func fillElements(of frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        while frame.next < frame.count {
            let object = try reference(frame.next, in: frame.references)
            let offset = try place(of: object)
            if isContainer(at: offset) {
                guard let node = keptNode(object) else { return object }
                try add(node.value, units: node.units, height: node.height, to: &frame, depth: depth)
            } else {
                frame.elements.append(try leaf(object, at: offset))
                frame.next += 1
            }
        }
        return nil
    }

    private mutating func fillEntries(of frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        while frame.next < frame.count {
            let object = try reference(frame.count + frame.next, in: frame.references)
            let offset = try place(of: object)
            if isContainer(at: offset) {
                guard let node = keptNode(object) else { return object }
                try add(node.value, units: node.units, height: node.height, to: &frame, depth: depth)
            } else {
                try addEntry(leaf(object, at: offset), to: &frame)
            }
        }
        return nil
    }

    /// Adds the next child to a container.
    @inline(never)
    private mutating func add(
        _ value: consuming PropertyListValue, units: Int, height: Int32, to frame: inout Frame, depth: Int
    ) throws(PropertyListError) {
        frame.height = max(frame.height, 1 + height)
        guard depth + Int(frame.height) - 1 <= Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
        frame.units = frame.units.saturatingSum(units - 1)
        guard frame.units <= limit else { throw .tooLarge(at: frame.offset, of: bytes.count) }
        if frame.isDictionary {
            try addEntry(value, to: &frame)
        } else {
            frame.elements.append(value)
            frame.next += 1
        }
    }

    @inline(__always)
    private mutating func addEntry(_ value: consuming PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        let object = try reference(frame.next, in: frame.references)
        let key = try key(object)
        guard frame.entries.add(key, consume value) else { throw try repeated(key, object, in: frame) }
        frame.next += 1
    }

    @inline(never)
    private func repeated(_ key: String, _ object: Int, in frame: borrowing Frame) throws(PropertyListError) -> PropertyListError {
        let offset = try place(of: object)
        // Foundation would keep the first of them and `plistlib` the last.
        return frame.entries.hasSameBytes(key) ? .repeatedKey(key, at: offset) : .equivalentKey(key, at: offset)
    }

    /// The object that a reference names.
    @inline(__always)
    func reference(_ index: Int, in references: NumberRow) throws(PropertyListError) -> Int {
        let object = references[index]
        guard object < trailer.objectCount else {
            throw .reference(to: object, of: trailer.objectCount, at: references.offset(of: index))
        }
        return Int(truncatingIfNeeded: object)
    }

    /// The references of a container, which are known to stand in front of the trailer.
    func references(at offset: Int, count: Int) -> NumberRow {
        NumberRow(in: bytes, from: offset, size: trailer.referenceSize, count: count)
    }
}
