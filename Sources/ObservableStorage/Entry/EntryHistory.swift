import PropertyListCoding

/// The previous values of an entry, for readers that cannot decode the present one: they keep the last valid value.
///
/// A value set with a key of the entry's type is valid. Other values are only known to be valid after a reader has decoded them: the values
/// before them are kept until then. Values inside the entry's dictionary that have keys of their own are valid or invalid one by one.
struct EntryHistory: Sendable {
    /// The last valid and the last invalid value at one path inside the entry's dictionary.
    private struct InnerHistory: Sendable {
        /// The last valid value, nil if there was none since the value was removed, the type as which it was decoded, and the revision up to
        /// which it is known to be so.
        var good: PropertyListValue?
        var type: ObjectIdentifier?
        var goodRevision: UInt64 = 0
        /// Whether an invalid value has no valid one before it since there was none.
        var isInvalidFromStart = false
        /// The invalid value that was reported last, unless a valid one was found since.
        var reported: PropertyListValue?
        /// The first revision whose value has not been reported as invalid.
        var unreportedRevision: UInt64 = 0
    }

    /// Earlier values that may be valid, the newest first: the one replaced last, and the last one found to be valid, or else the oldest
    /// one that was not read.
    private(set) var earlier: [PropertyListValue] = []
    // The revision in which the first of them was replaced, and that of the one that was the first before the last change.
    private var (replacement, earlierReplacement): (UInt64, UInt64) = (0, 0)
    /// The revision of the store in which the present value was set.
    private(set) var revision: UInt64 = 0
    // The type as which values of the entry were last decoded.
    private var type: ObjectIdentifier?
    private var isGood = false
    // The first revision whose value has not been reported as invalid.
    private var unreportedRevision: UInt64 = 0
    // By the path inside the dictionary; of values that are there.
    private var inner: [[String]: InnerHistory] = [:]
    // Of those that the last change has removed, for observers of that change.
    private var removed: [[String]: InnerHistory] = [:]

    /// Whether there is an earlier value of a key.
    var isEmpty: Bool {
        earlier.isEmpty && inner.isEmpty
    }

    /// Whether the history need not be kept while nobody reads the entry. It is needed for readers that cannot decode the present value, if
    /// that is not known to be valid, or there were such readers.
    var isDispensable: Bool {
        inner.isEmpty && (earlier.isEmpty ? unreportedRevision <= revision : isGood && unreportedRevision == 0)
    }

    func earlier(_ name: EntryName) -> [PropertyListValue] {
        values(of: name, in: earlier, since: replacement)
    }

    /// The same before the last change.
    ///
    /// - Parameter earlier: the earlier values of the entry then.
    func earlierBefore(_ name: EntryName, in earlier: [PropertyListValue]) -> [PropertyListValue] {
        values(of: name, in: earlier, since: earlierReplacement)
    }

    /// The values of a key in earlier values of the entry, the first of which was replaced in a revision, with the last one that was found to
    /// be valid.
    private func values(of name: EntryName, in earlier: [PropertyListValue], since replacement: UInt64) -> [PropertyListValue] {
        if name.path.isEmpty { return earlier }
        let known = inner[name.path] ?? removed[name.path]
        // Edits inside the dictionary may have replaced a newer one, or removed it.
        let isNewer = known.map { $0.goodRevision >= replacement } ?? false
        // A valid value is known only since there was none.
        guard let last = earlier.first.flatMap(name.leaf), !isNewer || known?.good != nil else { return known?.good.map { [$0] } ?? [] }
        let newest = (isNewer ? [known?.good, last] : [last, known?.good]).compactMap(\.self)
        // Older ones may be of the time before the value was removed.
        return known?.isInvalidFromStart == true ? newest : newest + earlier.dropFirst().compactMap(name.leaf)
    }

    /// Records that a value was replaced.
    ///
    /// - Parameters:
    ///   - new: the present value.
    ///   - isEdit: whether the change was made by this process.
    ///   - type: the type of a key without user code that has set the new value; nil otherwise.
    mutating func replaced(
        _ old: PropertyListValue?, by new: PropertyListValue?, isEdit: Bool, type: ObjectIdentifier?, revision: UInt64
    ) {
        (self.revision, earlierReplacement) = (revision, replacement)
        let isRemoval = new == nil
        let isTyped = type != nil && !isRemoval && (self.type == nil || self.type == type)
        defer { isGood = isTyped }
        forget(inner.keys, removedFrom: new)
        if isTyped { self.type = type }
        guard let old, !isRemoval, !(isTyped && isGood) else {
            if !earlier.isEmpty { earlier = [] }
            return
        }
        // Large values that are set repeatedly and never read are not kept twice.
        guard isGood || !isEdit || !old.isLarge else { return }
        (earlier, replacement) = ([old] + (isGood ? [] : earlier.suffix(1)), revision)
    }

    /// Whether a value is kept, which copies it, when this process edits one inside it.
    func keepsValue(_ value: PropertyListValue?, editedAt path: [String]) -> Bool {
        if isGood { return true }
        var inner = value
        for step in path {
            guard let dictionary = inner else { break }
            if dictionary.isCostlyToCopy { return false }
            inner = dictionary[step]
        }
        return true
    }

    /// Records an edit inside the present value, which is not kept.
    ///
    /// - Parameters:
    ///   - old: the value that was replaced.
    ///   - new: the present value.
    mutating func recordEdit(of old: PropertyListValue?, at path: [String], in new: PropertyListValue?, revision: UInt64) {
        (self.revision, earlierReplacement) = (revision, replacement)
        if case .dictionary = old { return forget(inner.keys, removedFrom: new) }
        // With the last value in a dictionary, that is removed as well.
        forget(path.indices.lazy.map { Array(path[...$0]) }, removedFrom: new)
        // An earlier dictionary may have a value of the time before it was removed.
        guard old == nil, earlier.contains(where: { EntryName(own: "", path: path).leaf($0) != nil }) else { return }
        inner[path] = InnerHistory(goodRevision: revision, isInvalidFromStart: true)
    }

    /// Forgets the values at some paths that are not there any more.
    private mutating func forget(_ paths: some Sequence<[String]>, removedFrom new: PropertyListValue?) {
        if !removed.isEmpty { removed = [:] }
        if inner.isEmpty { return }
        for path in paths where EntryName(own: "", path: path).leaf(new) == nil { removed[path] = inner.removeValue(forKey: path) }
    }

    /// Whether the present value of a key still has to be recorded as valid for readers of a type.
    func isUnconfirmed(_ type: ObjectIdentifier, of name: EntryName) -> Bool {
        // A reader of another type must not remove the last valid value of the readers of the entry's type.
        if name.path.isEmpty { return !isGood && (self.type == nil || self.type == type || earlier.isEmpty) }
        guard let inner = inner[name.path], inner.good != nil else { return true }
        return inner.goodRevision < revision && inner.type == type
    }

    /// Records that the present value of a key is valid.
    ///
    /// - Returns: earlier values that are no longer needed, to be released outside locks.
    mutating func markValid(_ value: PropertyListValue, of name: EntryName, as type: ObjectIdentifier) -> [PropertyListValue] {
        guard isUnconfirmed(type, of: name) else { return [] }
        guard !name.path.isEmpty else {
            defer { (self.type, isGood, earlier) = (type, true, []) }
            return earlier
        }
        var found = inner[name.path] ?? InnerHistory()
        let unneeded = [found.good, found.reported].compactMap(\.self)
        (found.good, found.type, found.goodRevision, found.isInvalidFromStart) = (value, type, revision, false)
        if found.reported != value { found.reported = nil }
        inner[name.path] = found
        return unneeded
    }

    /// Records that the value of a key is invalid.
    ///
    /// - Parameters:
    ///   - revision: the revision in which the value was set, or a later one, if it is still present.
    ///   - good: the earlier value that is used instead, the only one that is kept.
    ///   - type: the type as which that was decoded.
    ///   - isHidden: whether another value is to be reported, which hides this one.
    /// - Returns: whether to report this, once for each value; and earlier values that are no longer needed.
    mutating func markInvalid(
        _ value: PropertyListValue, of name: EntryName, revision: UInt64, insteadOf good: PropertyListValue?, as type: ObjectIdentifier?,
        isHidden: Bool = false
    ) -> (isNew: Bool, unneeded: [PropertyListValue]) {
        guard name.path.isEmpty else {
            return markInvalidInside(value, at: name.path, revision: revision, insteadOf: good, as: type, isHidden: isHidden)
        }
        var unneeded: [PropertyListValue] = []
        if let good, !earlier.isEmpty, revision >= self.revision, earlier != [good] {
            // It is not known when an older one was replaced: what is known to be valid inside it is newer.
            if earlier[0] != good { replacement = 0 }
            (unneeded, earlier) = (earlier, [good])
        }
        let revision = min(revision, self.revision)
        guard !isHidden, revision >= unreportedRevision else { return (false, unneeded) }
        unreportedRevision = revision + 1
        return (true, unneeded)
    }

    private mutating func markInvalidInside(
        _ value: PropertyListValue, at path: [String], revision: UInt64, insteadOf good: PropertyListValue?, as type: ObjectIdentifier?,
        isHidden: Bool
    ) -> (isNew: Bool, unneeded: [PropertyListValue]) {
        var found = inner[path] ?? InnerHistory()
        defer { inner[path] = found }
        let unneeded = [found.good, found.reported].compactMap(\.self)
        if revision >= self.revision {
            if good != nil, found.good == nil { found.type = type }
            (found.good, found.isInvalidFromStart) = (good ?? found.good, good == nil)
        }
        if isHidden { return (false, unneeded) }
        let revision = min(revision, self.revision)
        // The value was reported already if only others in the dictionary have changed.
        let isNew = revision >= found.unreportedRevision && value != found.reported
        if isNew { found.reported = value }
        found.unreportedRevision = max(found.unreportedRevision, revision + 1)
        return (isNew, unneeded)
    }
}

extension PropertyListValue {
    /// Whether copying a dictionary takes longer than editing a value in it.
    fileprivate var isCostlyToCopy: Bool {
        if case .dictionary(let entries) = self { entries.count > 32 } else { false }
    }

    /// Whether the value takes more than about 64 KB, in bounded time.
    var isLarge: Bool {
        var size = 0
        var pending = [self]
        while size <= 65_536, let value = pending.popLast() {
            size += 32
            switch value {
            case .string(let text): size += text.utf8.count
            case .data(let data): size += data.count
            case .array(let elements): pending += elements.prefix(2_048)
            case .dictionary(let entries): pending += entries.values.prefix(2_048)
            case .integer, .real, .boolean, .date, .uid: break
            }
        }
        return size > 65_536
    }
}
