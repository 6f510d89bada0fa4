/// The limits on every property list that both readers and both writers enforce.
///
/// The expansion cost of a value is its size without sharing: one for each value, and one more for each 32 bytes of text or data.
package enum DecodingLimits {
    /// The number of containers that may be nested.
    package static let depth = 512

    /// The largest text or data whose cost is covered by the one byte that a reference to it takes at least.
    static let freelySharedSize = 15 * 32

    /// The largest expansion cost of a property list of a number of bytes: 16 for each byte, and a base for small ones.
    static func maximumCost(forInput bytes: Int) -> Int {
        let (cost, overflow) = bytes.multipliedReportingOverflow(by: 16)
        return overflow ? .max : cost.saturatingSum(262_144)
    }

    /// The expansion cost of a leaf with a number of bytes of text or data.
    static func cost(ofLeafSize bytes: Int) -> Int {
        1 + bytes / 32
    }

    static func cost(of leaf: PropertyListValue) -> Int {
        switch leaf {
        case .string(let text): cost(ofLeafSize: text.utf8.count)
        case .data(let data): cost(ofLeafSize: data.count)
        default: 1
        }
    }
}

extension PropertyListValue {
    /// Checks that the value can be written as binary and read back: arrays and dictionaries at most 512 levels deep.
    ///
    /// - Throws: ``PropertyListError`` without an offset.
    public func validate() throws(PropertyListError) {
        try validate(inside: 0)
    }

    /// The same for a value that is nested in a number of other containers, such as the dictionary of a list.
    package func validate(inside containers: Int) throws(PropertyListError) {
        guard isContainer else { return }
        var pending = [(container: self, depth: containers + 1)]
        while let (container, depth) = pending.popLast() {
            guard depth <= DecodingLimits.depth else { throw .tooDeep(at: nil, inside: containers) }
            switch container {
            case .array(let elements):
                for element in elements where element.isContainer { pending.append((element, depth + 1)) }
            case .dictionary(let entries):
                for element in entries.values where element.isContainer { pending.append((element, depth + 1)) }
            default: break
            }
        }
    }
}

extension Int {
    /// The sum, or `Int.max` if it overflows.
    func saturatingSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
