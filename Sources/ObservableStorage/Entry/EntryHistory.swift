import PropertyListCoding

/// What an entry held before, for readers who cannot decode what it holds now: they keep the last good value.
///
/// What is set with a key of the entry's type is good. Of other values that shows only when somebody decodes them: until then the values
/// before are kept, and no longer.
struct EntryHistory: Sendable {
    /// Earlier values that may be good, the newest first: the one that was replaced last, and the last one that was found to be good, or else
    /// the first one that nobody has read.
    private(set) var earlier: [PropertyListValue] = []
    /// The revision of the store in which the present value came.
    private(set) var revision: UInt64 = 0
    // The type that values of the entry were last found to be of.
    private var type: ObjectIdentifier?
    private var isGood = false
    // The first revision whose value has not been reported as bad.
    private var unreportedRevision: UInt64 = 0

    /// Notes that a value has been replaced.
    ///
    /// - Parameters:
    ///   - old: the value; nil if there was none.
    ///   - isRemoval: whether there is none now.
    ///   - isEdit: whether this process did it.
    ///   - type: what a key that needs no code of the user's has set the new value as.
    mutating func replaced(_ old: PropertyListValue?, isRemoval: Bool, isEdit: Bool, type: ObjectIdentifier?, revision: UInt64) {
        self.revision = revision
        let isTyped = type != nil && !isRemoval && (self.type == nil || self.type == type)
        defer { isGood = isTyped }
        if isTyped { self.type = type }
        guard let old, !isRemoval, !(isTyped && isGood) else {
            if !earlier.isEmpty { earlier = [] }
            return
        }
        if isGood {
            earlier = [old]
        } else if !isEdit || !old.isBulky {
            // Large values that are set again and again and never read are not held twice.
            earlier = [old] + earlier.suffix(1)
        }
    }

    /// Whether it is still to be noted that the present value is good to those who read it as a type.
    func isUnconfirmed(_ type: ObjectIdentifier) -> Bool {
        // One who reads the entry as another type does not take the last good value from those whose entry it is.
        !isGood && (self.type == nil || self.type == type || earlier.isEmpty)
    }

    /// Notes that a value is good, if it is still there.
    ///
    /// - Returns: earlier values that are not needed any more, for release outside of locks.
    mutating func noteGood(_ type: ObjectIdentifier, revision: UInt64) -> [PropertyListValue] {
        guard self.revision == revision, isUnconfirmed(type) else { return [] }
        defer { (self.type, isGood, earlier) = (type, true, []) }
        return earlier
    }

    /// Notes that a value is bad.
    ///
    /// - Parameters:
    ///   - revision: that in which the value came, or a later one, if it is still there.
    ///   - good: the earlier value that counts in its place: no other one is kept.
    /// - Returns: whether that is to be reported, which is so once for each value; and earlier values that are not needed any more.
    mutating func noteBad(revision: UInt64, insteadOf good: PropertyListValue?) -> (isNew: Bool, unneeded: [PropertyListValue]) {
        var unneeded: [PropertyListValue] = []
        if let good, !earlier.isEmpty, revision >= self.revision, earlier != [good] { (unneeded, earlier) = (earlier, [good]) }
        let revision = min(revision, self.revision)
        guard revision >= unreportedRevision else { return (false, unneeded) }
        unreportedRevision = revision + 1
        return (true, unneeded)
    }
}

extension PropertyListValue {
    /// Whether it takes much memory, as far as that shows at once.
    fileprivate var isBulky: Bool {
        switch self {
        case .string(let text): text.utf8.count > 65_536
        case .data(let data): data.count > 65_536
        case .array(let elements): elements.count > 1_024
        case .dictionary(let entries): entries.count > 1_024
        case .integer, .real, .boolean, .date, .uid: false
        }
    }
}
