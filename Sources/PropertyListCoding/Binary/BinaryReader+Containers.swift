/// Decodes values without recursion.
///
/// An object is decoded at most twice and then shared by all references to it, so that memory stays linear in the input; the expansion
/// cost and the depth of the value are counted during decoding.
extension BinaryReader {
    struct ObjectState: Equatable {
        private let code: UInt32

        static var unvisited: ObjectState { ObjectState(code: .max) }
        static var visited: ObjectState { ObjectState(code: .max - 1) }
        /// A container that is being read: a reference to it is a cycle.
        static var open: ObjectState { ObjectState(code: .max - 2) }

        static func shared(at index: Int) -> ObjectState { ObjectState(code: UInt32(index)) }

        var sharedIndex: Int? { code < ObjectState.open.code ? Int(code) : nil }
    }

    /// A value, with its expansion cost and the number of containers nested in it.
    typealias Node = (value: PropertyListValue, cost: Int, height: Int32)

    /// A container whose children are being read.
    private struct Frame {
        let object: Int
        let offset: Int
        let count: Int
        let references: PackedIntegers
        let isDictionary: Bool
        /// Whether the container was read before, so that its value is shared now.
        let wasVisited: Bool
        var height: Int32 = 1
        /// Initially 1 for each key and child.
        var cost: Int
        var next = 0
        var elements: [PropertyListValue] = []
        var entries: [String: PropertyListValue] = [:]

        /// Moves the value out, without a copy.
        mutating func takeValue() -> PropertyListValue {
            if isDictionary {
                var taken: [String: PropertyListValue] = [:]
                swap(&taken, &entries)
                return .dictionary(taken)
            }
            var taken: [PropertyListValue] = []
            swap(&taken, &elements)
            return .array(taken)
        }
    }

    mutating func read() throws(PropertyListError) -> PropertyListValue {
        try value(of: root, depth: 0).value
    }

    /// Decodes an object at a nesting depth.
    mutating func value(of object: Int, depth outerDepth: Int) throws(PropertyListError) -> Node {
        if let node = sharedNode(object) { return node }
        let offset = try offset(of: object)
        guard isContainer(at: offset) else {
            let leaf = try leaf(object, at: offset)
            return (leaf, DecodingLimits.cost(of: leaf), 0)
        }
        longLeafCost = 0
        var parents: [Frame] = []
        var frame = try open(object)
        while true {
            let depth = outerDepth + parents.count + 1
            if let child = try fill(&frame, depth: depth) {
                parents.append(consume frame)
                frame = child
            } else {
                let (value, cost, height) = (close(&frame), frame.cost, frame.height)
                if parents.isEmpty { return (value, cost, height) }
                // Moved: with a second reference, adding a child would copy the others.
                frame = parents.removeLast()
                try add(value, cost: cost, height: height, to: &frame, depth: depth - 1)
            }
        }
    }

    /// The value of an object that was visited twice.
    func sharedNode(_ object: Int) -> Node? {
        states[object].sharedIndex.map { shared[$0] }
    }

    mutating func share(_ node: consuming Node, as object: Int) {
        states[object] = .shared(at: shared.count)
        shared.append(node)
    }

    /// Subtracts the size of an object from the bytes that may still be read.
    mutating func spend(_ size: Int, at offset: Int) throws(PropertyListError) {
        byteBudget -= size
        guard byteBudget >= 0 else { throw PropertyListError(offset: offset, reason: "objects overlap") }
    }

    private mutating func open(_ object: Int) throws(PropertyListError) -> Frame {
        let offset = try offset(of: object)
        let isDictionary = isDictionary(at: offset)
        let references = try references(at: offset)
        let count = isDictionary ? references.count / 2 : references.count
        try spend(references.count * referenceSize, at: offset)
        let wasVisited = states[object] == .visited
        states[object] = .open
        var frame = Frame(
            object: object, offset: offset, count: count, references: references, isDictionary: isDictionary, wasVisited: wasVisited,
            cost: 1 + references.count)
        if isDictionary { frame.entries.reserveCapacity(count) } else { frame.elements.reserveCapacity(count) }
        return frame
    }

    private mutating func close(_ frame: inout Frame) -> PropertyListValue {
        let value = frame.takeValue()
        if frame.wasVisited {
            share((value, frame.cost, frame.height), as: frame.object)
        } else {
            states[frame.object] = .visited
        }
        return value
    }

    /// Reads children up to the end, or to one that itself has a container as child, which is returned to be read first.
    private mutating func fill(_ frame: inout Frame, depth: Int) throws(PropertyListError) -> Frame? {
        while let object = try fillLeaves(of: &frame, depth: depth) {
            guard states[object] != .open else { throw PropertyListError(offset: frame.offset, reason: "a container contains itself") }
            guard depth < DecodingLimits.depth else { throw .tooDeep(at: frame.offset) }
            var child = try open(object)
            if try fillLeaves(of: &child, depth: depth + 1) != nil { return child }
            try add(close(&child), cost: child.cost, height: child.height, to: &frame, depth: depth)
        }
        return nil
    }

    /// Reads children up to the end, or to a container that is not shared, which is returned.
    private mutating func fillLeaves(of frame: inout Frame, depth: Int) throws(PropertyListError) -> Int? {
        let firstValue = frame.references.count - frame.count
        var container: Int?
        while frame.next < frame.count {
            let object = try object(firstValue + frame.next, in: frame.references)
            let offset = try offset(of: object)
            if !isContainer(at: offset) {
                try append(leaf(object, at: offset), to: &frame)
            } else if let node = sharedNode(object) {
                try add(node.value, cost: node.cost, height: node.height, to: &frame, depth: depth)
            } else {
                container = object
                break
            }
        }
        // Includes the key of a container that was added before.
        frame.cost = frame.cost.saturatingSum(longLeafCost)
        longLeafCost = 0
        guard frame.cost <= maximumCost else { throw .tooLarge(at: frame.offset, of: bytes.count) }
        return container
    }

    private mutating func add(
        _ value: consuming PropertyListValue, cost: Int, height: Int32, to frame: inout Frame, depth: Int
    ) throws(PropertyListError) {
        frame.height = max(frame.height, 1 + height)
        guard depth + Int(frame.height) - 1 <= DecodingLimits.depth else { throw .tooDeep(at: frame.offset) }
        frame.cost = frame.cost.saturatingSum(cost - 1)
        guard frame.cost <= maximumCost else { throw .tooLarge(at: frame.offset, of: bytes.count) }
        try append(value, to: &frame)
    }

    // Inlined: see BinaryReader, binary.parse 1.2.
    /// Adds the next child, with its key in a dictionary.
    @inline(__always)
    private mutating func append(_ value: consuming PropertyListValue, to frame: inout Frame) throws(PropertyListError) {
        if frame.isDictionary {
            let object = try object(frame.next, in: frame.references)
            let count = frame.entries.count
            frame.entries[try key(object)] = consume value
            guard frame.entries.count > count else {
                // Foundation would keep the first of both entries and `plistlib` the last. The key is read again: a reference to it for this
                // error alone would be counted for each entry.
                let (key, offset) = (try key(object), try offset(of: object))
                throw frame.entries.hasSameBytes(key) ? .repeatedKey(key, at: offset) : .equivalentKey(key, at: offset)
            }
        } else {
            frame.elements.append(value)
        }
        frame.next += 1
    }
}

extension PropertyListError {
    fileprivate static func tooLarge(at offset: Int, of bytes: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "shared objects make the property list much larger than its \(bytes) bytes")
    }
}
