/// Reads a binary property list.
///
/// An object is decoded twice at most and then shared wherever it is referred to, so memory stays linear; how large the value would
/// be written out, and how deep, is counted along the way.
struct BinaryReader {
    let bytes: ByteView
    let trailer: BinaryTrailer
    /// How many bytes of text, data and references may still be read; only objects that overlap have more of them.
    var allowance: Int
    /// What is known of each object.
    private var marks: [Mark]
    /// Containers, and the texts and data that were met a second time.
    private var kept: [Node] = []
    let limit: Int

    init(_ bytes: ByteView) throws(PropertyListError) {
        self.bytes = bytes
        trailer = try BinaryTrailer(of: bytes)
        marks = Array(repeating: .unmet, count: trailer.objectCount)
        // Twice the objects, because UTF-16 grows by half when it becomes UTF-8.
        allowance = trailer.table.saturatingSum(trailer.table).saturatingSum(1024)
        limit = Bounds.units(forInput: bytes.count)
    }

    /// Decodes the root.
    mutating func read() throws(PropertyListError) -> PropertyListValue {
        try value(of: trailer.root, inside: 0).value
    }

    /// Decodes an object that stands inside so many containers.
    mutating func value(of object: Int, inside outer: Int) throws(PropertyListError) -> Node {
        if let place = marks[object].place { return kept[place] }
        if let leaf = try leaf(object, at: place(of: object)) { return Node(value: leaf, units: Bounds.units(of: leaf), height: 0) }
        var parents: [Frame] = []
        var frame = try open(object)
        while true {
            let depth = outer + parents.count + 1
            if let container = try fill(&frame, depth: depth) {
                guard depth < Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
                let child = try open(container)
                parents.append(consume frame)
                frame = child
            } else {
                let node = close(consume frame)
                if parents.isEmpty { return node }
                // Moved, not bound to a name first: a second reference would make each further child copy those before it.
                frame = parents.removeLast()
                try add(node, to: &frame, depth: depth - 1)
            }
        }
    }

    /// Takes note that a text or data is met, and of its value when it is met again: few are, and to keep all of them would cost
    /// more than to decode some twice.
    mutating func meet(_ object: Int, _ leaf: PropertyListValue, size: Int, at offset: Int) throws(PropertyListError) {
        if marks[object] == .unmet {
            try charge(size, for: offset)
            marks[object] = .met
        } else {
            keep(Node(value: leaf, units: Bounds.units(ofLeaf: size), height: 0), for: object)
        }
    }

    /// The text of an object that is kept.
    @inline(__always)
    func keptText(_ object: Int) -> String? {
        if let place = marks[object].place, case .string(let text) = kept[place].value { text } else { nil }
    }
}

extension BinaryReader {
    /// What is known of an object: nothing, that it is a leaf that was read, that it is a container being read, or where it is kept.
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
        let isDictionary: Bool
        let count: Int
        /// Where its references begin.
        let references: Int
        var next = 0
        var units = 1
        var height: Int32 = 1
        var elements: [PropertyListValue] = []
        var entries: [String: PropertyListValue] = [:]
    }

    private mutating func open(_ object: Int) throws(PropertyListError) -> Frame {
        let offset = try place(of: object)
        let isDictionary = bytes[offset] >> 4 == 0xD
        let width = trailer.referenceSize * (isDictionary ? 2 : 1)
        let (count, references) = try payload(at: offset, width: width)
        try charge(count * width, for: offset)
        var frame = Frame(object: object, offset: offset, isDictionary: isDictionary, count: count, references: references)
        if isDictionary {
            frame.entries.reserveCapacity(count)
        } else {
            frame.elements.reserveCapacity(count)
        }
        marks[object] = .open
        return frame
    }

    private mutating func close(_ frame: consuming Frame) -> Node {
        let value: PropertyListValue = frame.isDictionary ? .dictionary(frame.entries) : .array(frame.elements)
        let node = Node(value: value, units: frame.units, height: frame.height)
        keep(node, for: frame.object)
        return node
    }

    private mutating func keep(_ node: Node, for object: Int) {
        marks[object] = .kept(at: kept.count)
        kept.append(node)
    }

    /// Reads children until there are none left, or one is a container that has to be read first, and returns that.
    private mutating func fill(_ frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        while frame.next < frame.count {
            let position = frame.isDictionary ? frame.count + frame.next : frame.next
            let object = try reference(frame.references + position * trailer.referenceSize)
            if let place = marks[object].place {
                try add(kept[place], to: &frame, depth: depth)
            } else if let leaf = try leaf(object, at: place(of: object)) {
                frame.units = frame.units.saturatingSum(Bounds.units(of: leaf))
                try add(leaf, to: &frame)
            } else if marks[object] == .open {
                throw PropertyListError(offset: frame.offset, reason: "a container contains itself")
            } else {
                return object
            }
        }
        return nil
    }

    /// Adds the next child to a container.
    private mutating func add(_ node: borrowing Node, to frame: inout Frame, depth: Int) throws(PropertyListError) {
        frame.height = max(frame.height, 1 + node.height)
        guard depth + Int(frame.height) - 1 <= Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
        frame.units = frame.units.saturatingSum(node.units)
        try add(node.value, to: &frame)
    }

    private mutating func add(_ value: consuming PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        if frame.isDictionary {
            try addEntry(value, to: &frame)
        } else {
            frame.elements.append(value)
        }
        guard frame.units <= limit else { throw tooLarge(frame.offset) }
        frame.next += 1
    }

    @inline(__always)
    private mutating func addEntry(_ value: consuming PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        let object = try reference(frame.references + frame.next * trailer.referenceSize)
        let key = try key(object)
        frame.units = frame.units.saturatingSum(Bounds.units(ofLeaf: key.utf8.count))
        frame.entries[key] = value
        if frame.entries.count == frame.next {
            let offset = try place(of: object)
            // Foundation would keep the first of them and `plistlib` the last.
            throw frame.entries.hasSameBytes(key) ? .repeatedKey(key, at: offset) : .equivalentKey(key, at: offset)
        }
    }

    /// The object that the reference at an offset names.
    @inline(__always)
    func reference(_ offset: Int) throws(PropertyListError) -> Int {
        let object = bytes.number(at: offset, size: trailer.referenceSize)
        guard object < trailer.objectCount else { throw noObject(object, at: offset) }
        return Int(object)
    }

    @inline(never)
    private func noObject(_ object: UInt64, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a reference to object \(object) of \(trailer.objectCount)")
    }

    @inline(never)
    private func tooLarge(_ offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "shared objects make the property list much larger than its \(bytes.count) bytes")
    }
}
