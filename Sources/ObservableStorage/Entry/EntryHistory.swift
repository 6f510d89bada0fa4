import PropertyListCoding

/// The previous values of an entry, for readers that cannot decode the present one: they keep the last value that was valid for their type,
/// unless it was removed since.
///
/// A value set with a key of the entry's type is valid. Other values are only known to be valid after a reader has decoded them: two of the
/// values before them are kept until then. Values inside the entry's dictionary that have keys of their own are valid or invalid one by one.
/// Memory is bounded: these two values, with the paths in them that were removed, and four valid values at each path that is read.
struct EntryHistory: Sendable {
    private struct EarlierValue: Sendable {
        let value: PropertyListValue
        /// The revision in which it was replaced.
        let end: UInt64
        /// The outermost paths inside it that were removed since.
        var removals: Set<[String]> = []

        func leaf(_ name: EntryName) -> PropertyListValue? {
            name.path.indices.contains { removals.contains(Array(name.path[...$0])) } ? nil : name.leaf(value)
        }

        /// The paths of what is not there any more after an edit at a path.
        static func removals(
            of old: PropertyListValue, in new: PropertyListValue, editedAt edited: ArraySlice<String>, inside path: [String] = []
        ) -> Set<[String]> {
            guard case .dictionary(let values) = old else { return [] }
            var removals: Set<[String]> = []
            for name in edited.first.map({ [$0] }) ?? Array(values.keys) {
                guard let value = values[name] else { continue }
                let present = new[name]
                if present == nil { removals.insert(path + [name]) }
                guard case .dictionary = value, let present else { continue }
                removals.formUnion(Self.removals(of: value, in: present, editedAt: edited.dropFirst(), inside: path + [name]))
            }
            return removals
        }
    }

    /// What readers have found at one path.
    private struct Findings: Sendable {
        /// The last valid value of each type, and the first revision in which it is not known to be the present one.
        var valid: [(value: PropertyListValue, type: ObjectIdentifier?, end: UInt64)] = []
        /// The invalid value that was reported last, unless a valid one was found since.
        var reported: PropertyListValue?
        /// The first revision whose value has not been reported as invalid.
        var unreportedRevision: UInt64 = 0

        /// Records a valid value, unless a later one is known, and returns one that is no longer needed.
        mutating func record(_ value: PropertyListValue, as type: ObjectIdentifier?, end: UInt64) -> [PropertyListValue] {
            let known = valid.firstIndex { $0.type == type }
            if let known, valid[known].end > end { return [] }
            valid.append((value, type, end))
            // One value is rarely read as more types than a plain one and its optional.
            return known != nil || valid.count > 4 ? [valid.remove(at: known ?? 0).value] : []
        }
    }

    // Those that may be valid, the newest first: the one replaced last, and the oldest one that was not read.
    private var earlier: [EarlierValue] = []
    /// The revision of the store in which the present value was set.
    private(set) var revision: UInt64 = 0
    // The type as which values of the entry were first decoded, or set, and whether the present one is valid for it.
    private var type: ObjectIdentifier?
    private var isGood = false
    private var unreportedRevision: UInt64 = 0
    // By the path inside the dictionary, of values that are there. Those of the whole entry are of other types, or replace invalid ones.
    private var findings: [[String]: Findings] = [:]

    /// Whether there is an earlier value of a key.
    var isEmpty: Bool { earlier.isEmpty && findings.isEmpty }

    /// Whether the history need not be kept while nobody reads the entry. It is needed for readers that cannot decode the present value, if
    /// that is not known to be valid, or there were such readers.
    var isDispensable: Bool {
        findings.allSatisfy { $0.key.isEmpty && $0.value.valid.allSatisfy { $0.end > revision } }
            && (earlier.isEmpty ? unreportedRevision <= revision : isGood && unreportedRevision == 0)
    }

    /// The earlier values of a key that may be valid, the newest first.
    func earlier(_ name: EntryName) -> [PropertyListValue] {
        isEmpty ? [] : candidates(name).map { $0.value }
    }

    private func candidates(_ name: EntryName) -> [(value: PropertyListValue, end: UInt64)] {
        let old = earlier.compactMap { old in old.leaf(name).map { (value: $0, end: old.end) } }
        // Without those that are present.
        let valid = findings[name.path]?.valid.filter { $0.end <= revision } ?? []
        return valid.isEmpty ? old : (old + valid.map { (value: $0.value, end: $0.end) }).sorted { $0.end > $1.end }
    }

    /// Records that a value was replaced.
    ///
    /// - Parameters:
    ///   - new: the present value.
    ///   - path: the path of the edited value inside the dictionary; empty if all of the entry was set.
    ///   - isEdit: whether the change was made by this process.
    ///   - type: the type of a key without user code that has set the new value; nil otherwise.
    mutating func replaced(
        _ old: PropertyListValue?, by new: PropertyListValue?, at path: [String] = [], isEdit: Bool, type: ObjectIdentifier?,
        revision: UInt64
    ) {
        // The usual case, in which nothing else changes: a tenth of the time of a write (write.key).
        if isGood, isEmpty, type != nil, type == self.type, new != nil { return self.revision = revision }
        let isTyped = type != nil && new != nil && (self.type == nil || self.type == type)
        defer { isGood = isTyped }
        if isTyped { self.type = type }
        if isTyped && isGood {
            if !earlier.isEmpty { earlier = [] }
        } else if let old, new != nil, isGood || !isEdit || !old.isLarge {
            // Large values that are set repeatedly and never read are not kept twice.
            earlier = [EarlierValue(value: old, end: revision)] + (isGood ? [] : earlier.suffix(1))
        }
        recordEdit(of: isEmpty ? nil : EntryName(own: "", path: path).leaf(old), at: path, in: new, revision: revision)
        if isTyped, !findings.isEmpty { forgetValid(type) }
        if !isTyped, let type, let new { _ = findings[[], default: Findings()].record(new, as: type, end: revision + 1) }
    }

    /// Whether a value is kept, which copies it, when this process edits one inside it.
    func keepsValue(_ value: PropertyListValue?, editedAt path: [String]) -> Bool {
        var inner = value
        for step in path {
            // Copying one takes longer than editing a value in it.
            if case .dictionary(let entries) = inner, entries.count > 32 { return isGood }
            inner = inner?[step]
        }
        return true
    }

    /// Records an edit inside the present value, which is not kept, and forgets what is not there any more.
    mutating func recordEdit(of old: PropertyListValue?, at path: [String], in new: PropertyListValue?, revision: UInt64) {
        self.revision = revision
        if new == nil, !isEmpty { (earlier, findings) = ([], [:]) }
        guard let new, !isEmpty else { return }
        for index in earlier.indices {
            let removals = EarlierValue.removals(of: earlier[index].value, in: new, editedAt: path[...])
            // A copy of the history is usually retained: see `Entry.Replaced`.
            if !removals.isEmpty { earlier[index].removals.formUnion(removals) }
        }
        if findings.isEmpty { return }
        // With the last value in a dictionary, that is removed as well.
        let paths = old?.dictionary == nil ? path.indices.map { Array(path[...$0]) } : Array(findings.keys)
        for path in paths where EntryName(own: "", path: path).leaf(new) == nil { findings[path] = nil }
    }

    /// Forgets an earlier value of the entry that was valid for a type, after a later one.
    private mutating func forgetValid(_ type: ObjectIdentifier?) {
        findings[[]]?.valid.removeAll { $0.type == type }
        if findings[[]]?.valid.isEmpty == true { findings[[]] = nil }
    }

    /// Whether the present value of a key still has to be recorded as valid for readers of a type.
    func isUnconfirmed(_ type: ObjectIdentifier, of name: EntryName) -> Bool {
        if name.path.isEmpty, self.type == nil || self.type == type { return !isGood }
        return findings[name.path]?.valid.contains { $0.type == type && $0.end > revision } != true
    }

    /// Records that the present value of a key is valid.
    ///
    /// - Returns: earlier values that are no longer needed, to be released outside locks.
    mutating func markValid(_ value: PropertyListValue, of name: EntryName, as type: ObjectIdentifier) -> [PropertyListValue] {
        guard isUnconfirmed(type, of: name) else { return [] }
        if name.path.isEmpty, self.type == nil || self.type == type {
            let unneeded = earlier(name)
            forgetValid(type)
            (self.type, isGood) = (type, true)
            // Readers of values inside may not have read them.
            if findings.keys.allSatisfy(\.isEmpty) { earlier = [] }
            return unneeded
        }
        var found = findings[name.path] ?? Findings()
        defer { findings[name.path] = found }
        let reported = found.reported
        if reported != value { found.reported = nil }
        return found.record(value, as: type, end: revision + 1) + [reported].compactMap(\.self)
    }

    /// Records that the value of a key is invalid.
    ///
    /// - Parameters:
    ///   - revision: the revision in which the value was set, or a later one, if it is still present.
    ///   - good: the earlier value that is used instead, and the type as which it was decoded.
    ///   - isHidden: whether another value is to be reported, which hides this one.
    /// - Returns: whether to report this, once for each value; and earlier values that are no longer needed.
    mutating func markInvalid(
        _ value: PropertyListValue, of name: EntryName, revision: UInt64, insteadOf good: PropertyListValue?, as type: ObjectIdentifier?,
        isHidden: Bool = false
    ) -> (isNew: Bool, unneeded: [PropertyListValue]) {
        var unneeded: [PropertyListValue] = []
        if let good, revision >= self.revision {
            // One that is not kept was replaced by the present value.
            let end = candidates(name).first { $0.value == good }?.end ?? self.revision
            unneeded = findings[name.path, default: Findings()].record(good, as: type, end: end)
        }
        if isHidden { return (false, unneeded) }
        let revision = min(revision, self.revision)
        if name.path.isEmpty {
            defer { unreportedRevision = max(unreportedRevision, revision + 1) }
            return (revision >= unreportedRevision, unneeded)
        }
        var found = findings[name.path] ?? Findings()
        defer { findings[name.path] = found }
        // The value was reported already if only others in the dictionary have changed.
        let isNew = revision >= found.unreportedRevision && value != found.reported
        found.unreportedRevision = max(found.unreportedRevision, revision + 1)
        if isNew { (found.reported, unneeded) = (value, unneeded + [found.reported].compactMap(\.self)) }
        return (isNew, unneeded)
    }
}

extension PropertyListValue {
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
