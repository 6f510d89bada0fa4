import Foundation

extension PropertyListValue {
    /// Makes sure that the value can be written as binary and read back: arrays and dictionaries at most 512 deep.
    ///
    /// - Throws: ``PropertyListError`` without an offset.
    public func validate() throws(PropertyListError) {
        guard isContainer else { return }
        var pending = [(container: self, depth: 1)]
        while let (container, depth) = pending.popLast() {
            guard depth <= Bounds.depth else { throw Bounds.tooDeep(at: nil) }
            switch container {
            case .array(let elements):
                for element in elements where element.isContainer { pending.append((element, depth + 1)) }
            case .dictionary(let entries):
                for element in entries.values where element.isContainer { pending.append((element, depth + 1)) }
            default: break
            }
        }
    }

    /// How many values stand in a container; none in a leaf.
    var childCount: Int {
        switch self {
        case .array(let elements): elements.count
        case .dictionary(let entries): entries.count
        default: 0
        }
    }

    var isDictionary: Bool {
        if case .dictionary = self { true } else { false }
    }

    var isContainer: Bool {
        switch self {
        case .array, .dictionary: true
        default: false
        }
    }
}
