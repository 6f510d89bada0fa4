/// Reads a binary property list.
///
/// An object is decoded once and shared wherever it is referred to, so memory stays linear; how large the value would be
/// written out, and how deep, is counted along the way.
struct BinaryReader {
    let bytes: ByteView
    let trailer: BinaryTrailer
    /// Containers, data and strings of some length that are read already, by object.
    var decoded: [PropertyListValue?]
    /// How many bytes of text, data and references may still be read; only objects that overlap have more of them.
    var allowance: Int
    private var extents: [Extent]
    private let limit: Int

    init(_ bytes: ByteView) throws(PropertyListError) {
        self.bytes = bytes
        trailer = try BinaryTrailer(of: bytes)
        decoded = Array(repeating: nil, count: trailer.objectCount)
        extents = Array(repeating: Extent(), count: trailer.objectCount)
        // Twice the objects, because UTF-16 grows by half when it becomes UTF-8.
        allowance = trailer.table.saturatingSum(trailer.table).saturatingSum(1024)
        limit = Bounds.units(forInput: bytes.count)
    }

    /// Decodes the root.
    mutating func read() throws(PropertyListError) -> PropertyListValue {
        if let leaf = try child(trailer.root)?.value { return leaf }
        var parents: [Frame] = []
        var frame = try open(trailer.root)
        while true {
            if let container = try fill(&frame, depth: parents.count + 1) {
                guard parents.count + 1 < Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
                parents.append(frame)
                frame = try open(container)
            } else {
                let value = close(frame)
                guard let parent = parents.popLast() else { return value }
                frame = parent
            }
        }
    }
}

extension BinaryReader {
    /// How large a container is when everything shared in it is written out.
    private struct Extent {
        var units = 0
        var height: Int32 = 0
        /// Whether it is being read: referring to it now is a cycle.
        var isOpen = false
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
        extents[object].isOpen = true
        return frame
    }

    private mutating func close(_ frame: Frame) -> PropertyListValue {
        let value: PropertyListValue = frame.isDictionary ? .dictionary(frame.entries) : .array(frame.elements)
        decoded[frame.object] = value
        extents[frame.object] = Extent(units: frame.units, height: frame.height)
        return value
    }

    /// Reads children until there are none left, or one is a container that has to be read first, and returns that.
    private mutating func fill(_ frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        while frame.next < frame.count {
            let position = frame.isDictionary ? frame.count + frame.next : frame.next
            let object = try reference(frame, position)
            guard let (value, units) = try child(object) else {
                if extents[object].isOpen {
                    throw PropertyListError(offset: frame.offset, reason: "a container contains itself")
                }
                return object
            }
            frame.units = frame.units.saturatingSum(units)
            frame.height = max(frame.height, 1 + extents[object].height)
            guard depth + Int(frame.height) - 1 <= Bounds.depth else { throw Bounds.tooDeep(at: frame.offset) }
            if frame.isDictionary {
                try add(value, to: &frame)
            } else {
                frame.elements.append(value)
            }
            guard frame.units <= limit else {
                throw PropertyListError(
                    offset: frame.offset, reason: "shared objects make the property list much larger than its \(bytes.count) bytes")
            }
            frame.next += 1
        }
        return nil
    }

    private mutating func add(_ value: PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        let object = try reference(frame, frame.next)
        let key = try key(object)
        frame.units = frame.units.saturatingSum(Bounds.units(ofLeaf: key.utf8.count))
        frame.entries[key] = value
        if frame.entries.count == frame.next {
            let offset = try place(of: object)
            // Foundation would keep the first of them and `plistlib` the last.
            throw frame.entries.hasSameBytes(key) ? .repeatedKey(key, at: offset) : .equivalentKey(key, at: offset)
        }
    }

    private func reference(_ frame: Frame, _ position: Int) throws(PropertyListError) -> Int {
        let offset = frame.references + position * trailer.referenceSize
        let object = bytes.number(at: offset, size: trailer.referenceSize)
        guard object < trailer.objectCount else {
            throw PropertyListError(offset: offset, reason: "a reference to object \(object) of \(trailer.objectCount)")
        }
        return Int(object)
    }

    /// A leaf, or a container that is read already, and what it counts for; nothing for any other container.
    private mutating func child(_ object: Int) throws(PropertyListError) -> (value: PropertyListValue, units: Int)? {
        if let value = decoded[object] {
            let leaf: Int? = value.leafSize
            return (value, leaf.map(Bounds.units(ofLeaf:)) ?? extents[object].units)
        }
        let offset = try place(of: object)
        guard let leaf = try leaf(object, at: offset) else { return nil }
        return (leaf, Bounds.units(ofLeaf: leaf.leafSize ?? 0))
    }
}

extension PropertyListValue {
    /// How many bytes of text or data a leaf holds; nothing for a container.
    var leafSize: Int? {
        switch self {
        case .string(let string): string.utf8.count
        case .data(let data): data.count
        case .array, .dictionary: nil
        default: 0
        }
    }
}
