/// What both readers and both writers hold every property list to.
enum Bounds {
    /// How many containers may stand inside one another.
    static let depth = 512

    static func tooDeep(at offset: Int?) -> PropertyListError {
        PropertyListError(offset: offset, reason: "arrays and dictionaries are nested more than \(depth) deep")
    }

    /// How large a property list read from so many bytes may become when everything shared in it is written out.
    ///
    /// A unit is a node, or 32 bytes of text or data. One byte of a reference pays for 16.
    static func units(forInput bytes: Int) -> Int {
        let (units, overflow) = bytes.multipliedReportingOverflow(by: 16)
        return overflow ? .max : units.saturatingSum(262_144)
    }

    /// What a leaf of so many bytes of text or data counts for.
    static func units(ofLeaf bytes: Int) -> Int {
        1 + bytes / 32
    }

    /// What a leaf counts for.
    static func units(of leaf: PropertyListValue) -> Int {
        switch leaf {
        case .string(let text): units(ofLeaf: text.utf8.count)
        case .data(let data): units(ofLeaf: data.count)
        default: 1
        }
    }

    /// The longest text or data whose every reference is paid for by the reference's own byte.
    static let freelyShared = 15 * 32
}

extension Int {
    /// The sum, or the largest number if it is larger.
    func saturatingSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
