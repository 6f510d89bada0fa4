import PropertyListCoding

/// The previous values of an entry, for readers that cannot decode the present one: they keep the last valid value.
///
/// A value set with a key of the entry's type is valid. Other values are only known to be valid after a reader has decoded them: the values
/// before them are kept until then.
struct EntryHistory: Sendable {
    /// Earlier values that may be valid, the newest first: the one that was replaced last, and the last one that was found to be valid, or
    /// else the first one that was not read.
    private(set) var earlier: [PropertyListValue] = []
    /// The revision of the store in which the present value was set.
    private(set) var revision: UInt64 = 0
    // The type as which values of the entry were last decoded.
    private var type: ObjectIdentifier?
    private var isGood = false
    // The first revision whose value has not been reported as invalid.
    private var unreportedRevision: UInt64 = 0

    /// Records that a value was replaced.
    ///
    /// - Parameters:
    ///   - old: the previous value; nil if there was none.
    ///   - isRemoval: whether there is no new value.
    ///   - isEdit: whether the change was made by this process.
    ///   - type: the type of a key without user code that has set the new value; nil otherwise.
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
            // Large values that are set repeatedly and never read are not kept twice.
            earlier = [old] + earlier.suffix(1)
        }
    }

    /// Whether the present value still has to be recorded as valid for readers of a type.
    func isUnconfirmed(_ type: ObjectIdentifier) -> Bool {
        // A reader of another type must not remove the last valid value of the readers of the entry's type.
        !isGood && (self.type == nil || self.type == type || earlier.isEmpty)
    }

    /// Records that a value is valid, if it is still present.
    ///
    /// - Returns: earlier values that are no longer needed, to be released outside locks.
    mutating func noteGood(_ type: ObjectIdentifier, revision: UInt64) -> [PropertyListValue] {
        guard self.revision == revision, isUnconfirmed(type) else { return [] }
        defer { (self.type, isGood, earlier) = (type, true, []) }
        return earlier
    }

    /// Records that a value is invalid.
    ///
    /// - Parameters:
    ///   - revision: the revision in which the value was set, or a later one, if it is still present.
    ///   - good: the earlier value that is used instead: no other one is kept.
    /// - Returns: whether this has to be reported, which is true once for each value; and earlier values that are no longer needed.
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
    /// Whether the value takes much memory, as far as its top level shows.
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
