import PropertyListCoding

/// What an entry held before, for readers who cannot decode what it holds now: they keep the last good value.
///
/// Whether a value is good shows only when somebody decodes it. Until then the values before it are kept, and no longer.
struct EntryHistory: Sendable {
    /// Earlier values that may be good: at most the last one that was found to be, or else the first one that nobody has read, and the one that
    /// was replaced last.
    struct Earlier: Sendable {
        fileprivate(set) var first: PropertyListValue?
        fileprivate(set) var last: PropertyListValue?

        /// The newest one first.
        var values: [PropertyListValue] {
            [last, first].compactMap { $0 }
        }
    }

    private(set) var earlier = Earlier()
    /// The revision of the store in which the present value came.
    private(set) var revision: UInt64 = 0
    // The type that values of the entry were last found to be of.
    private var type: ObjectIdentifier?
    private var isGood = false
    // Tells the bad value that was reported last from others.
    private var reportedHash: Int?

    /// Notes that a value has been replaced.
    ///
    /// - Parameters:
    ///   - old: the value; nil if there was none.
    ///   - isRemoval: whether there is none now.
    ///   - isEdit: whether this process did it.
    mutating func replaced(_ old: PropertyListValue?, isRemoval: Bool, isEdit: Bool, revision: UInt64) {
        self.revision = revision
        defer { isGood = false }
        guard let old, !isRemoval else { return earlier = Earlier() }
        if isGood {
            earlier = Earlier(first: old)
        } else if earlier.first == nil {
            // Large values that are set again and again and never read are not held twice.
            if !isEdit || !old.isBulky { earlier.first = old }
        } else if !isEdit || !old.isBulky {
            earlier.last = old
        }
    }

    /// Whether it is still to be noted that the present value is good to those who read it as a type.
    func isNews(_ type: ObjectIdentifier) -> Bool {
        // One who reads the entry as another type does not take the last good value from those whose entry it is.
        !isGood && (self.type == nil || self.type == type || earlier.first == nil)
    }

    /// Notes that a value is good, if it is still there.
    ///
    /// - Returns: earlier values that are not needed any more, for release outside of locks.
    mutating func noteGood(_ type: ObjectIdentifier, revision: UInt64) -> Earlier {
        guard self.revision == revision, isNews(type) else { return Earlier() }
        defer { earlier = Earlier() }
        (self.type, isGood, reportedHash) = (type, true, nil)
        return earlier
    }

    /// Notes that a value is bad.
    ///
    /// - Returns: whether that is to be reported, which is so once for each value.
    mutating func noteBad(hash: Int) -> Bool {
        guard reportedHash != hash else { return false }
        reportedHash = hash
        return true
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
