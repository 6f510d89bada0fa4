import PropertyListCoding

// Values with the paths that lead to them, as `EntryPath` reads them.

extension [String: PropertyListValue] {
    /// Calls a closure for each entry, and for all values in arrays and dictionaries, each after the one that contains it.
    func forEachNested(_ body: (_ path: String, _ name: String, _ value: PropertyListValue) throws -> Void) rethrows {
        try PropertyListValue.dictionary(self).forEachChild(of: [], isPlain: true) { names, isPlain, value in
            // Looking for another reading of a path takes longer than all the rest.
            try body(isPlain ? names.joined(separator: ".") : EntryPath.text(of: names, in: self), names.last ?? "", value)
        }
    }

    /// Calls a closure for the innermost values that differ from those of another property list, sorted by path; one that is missing is nil.
    /// Arrays are compared element by element.
    func forEachDifference(
        from old: Self, _ body: (_ path: String, _ old: PropertyListValue?, _ new: PropertyListValue?) throws -> Void
    ) rethrows {
        try PropertyListValue.dictionary(self).forEachDifference(from: .dictionary(old), at: []) { names, before, now in
            try body(EntryPath.text(of: names, in: old, self), before, now)
        }
    }
}

extension PropertyListValue {
    /// - Parameter isPlain: whether the names, joined by dots, lead to nothing else: none of them has a dot, or is how the name of another entry
    ///   beside it begins, which has one.
    fileprivate func forEachChild(
        of path: [String], isPlain: Bool, _ body: (_ names: [String], _ isPlain: Bool, _ value: PropertyListValue) throws -> Void
    ) rethrows {
        let children = children
        let beginnings = Set(children.map(\.name).filter { $0.contains(".") }.map { $0.prefix { $0 != "." } })
        for (name, value) in children {
            let isPlain = isPlain && !name.isEmpty && !name.contains(".") && !beginnings.contains(name[...])
            try body(path + [name], isPlain, value)
            try value.forEachChild(of: path + [name], isPlain: isPlain, body)
        }
    }

    /// The elements of an array with their indexes, or the entries of a dictionary, sorted by name.
    private var children: [(name: String, value: PropertyListValue)] {
        switch self {
        case .array(let elements): elements.enumerated().map { (String($0), $1) }
        case .dictionary(let entries): entries.sortedEntries.map { ($0, $1) }
        default: []
        }
    }

    fileprivate func forEachDifference(
        from old: Self, at path: [String], _ body: (_ names: [String], _ old: Self?, _ new: Self?) throws -> Void
    ) rethrows {
        guard old != self else { return }
        let names: [String]
        switch (old, self) {
        case (.array(let old), .array(let new)): names = (0..<max(old.count, new.count)).map(String.init)
        case (.dictionary(let old), .dictionary(let new)): names = Set(old.keys).union(new.keys).sorted { $0.precedes($1) }
        default: return try body(path, old, self)
        }
        for name in names {
            switch (old[path: [name]], self[path: [name]]) {
            case (let old?, let new?): try new.forEachDifference(from: old, at: path + [name], body)
            case (let old, let new): try body(path + [name], old, new)
            }
        }
    }
}

// MARK: - Merging

/// Applies the edits that were made to a copy of a property list to its present content, so that the edits of others are kept.
struct Merge {
    /// A value was changed both in the copy and by others.
    struct Conflict: Error, Equatable {
        let path: String
    }

    /// A value when the copy was made, as copied, possibly rounded by the format, and after the edit of the copy.
    private typealias Versions = (original: PropertyListValue?, copied: PropertyListValue?, edited: PropertyListValue?)

    let original: [String: PropertyListValue]
    let copied: [String: PropertyListValue]
    let edited: [String: PropertyListValue]

    var editedKeys: Set<String> { Set(copied.keys).union(edited.keys).filter { copied[$0] != edited[$0] } }

    func value(of key: String, present: PropertyListValue?) throws(Conflict) -> PropertyListValue? {
        try Self.merged((original[key], copied[key], edited[key]), into: present, at: key)
    }

    private static func merged(_ versions: Versions, into present: PropertyListValue?, at path: String) throws(Conflict)
        -> PropertyListValue?
    {
        let (original, copied, edited) = versions
        if edited == copied || edited == present { return present }
        if case (.dictionary(let old)?, .dictionary(let new)?, .dictionary(var result)?) = (copied, edited, present) {
            for name in Set(old.keys).union(new.keys) {
                result[name] = try merged((original?[name], old[name], new[name]), into: result[name], at: "\(path).\(name)")
            }
            return .dictionary(result)
        }
        guard present == original else { throw Conflict(path: path) }
        // Unedited elements keep their exact values, not the rounded copies.
        guard case (.array(let old)?, .array(let new)?, .array(let source)?) = (copied, edited, original), old.count == source.count else {
            return edited
        }
        if new.count != old.count { return .array(source.applying(new.difference(from: old)) ?? new) }
        var elements = new
        for index in new.indices {
            elements[index] = try merged((source[index], old[index], new[index]), into: source[index], at: path) ?? new[index]
        }
        return .array(elements)
    }
}
