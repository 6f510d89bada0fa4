import PropertyListCoding

/// The names under which a key's value is stored, and the fallback that is used while there is none.
package struct EntryName: Sendable, Hashable {
    /// The entry that the key reads and writes.
    var own: String
    /// The path of the value inside the dictionary of the entry, and of the fallback; empty for the whole entry.
    var path: [String] = []
    /// Earlier names of the entry, the newest first: the first with a value is used, as a whole, while the own entry has none.
    var earlier: [String] = []
    /// The earlier names under which the value is stored as well, for earlier versions of the program.
    var kept: Set<String> = []
    /// The entry whose value is used while neither the own entry nor an earlier name has one.
    var fallback: String?
    var earlierFallback: [String] = []
    /// The names of the key's overrides that replace those made of its name: `PORT` for a variable, `--port` for an argument.
    var overrideNames: [String] = []
    /// Whether the value is a Boolean, so that an argument without a value is true.
    var isFlag = false

    /// The beginning of the names of this library's own entries.
    static let reservedPrefix = "ObservableStorage."
    /// The beginning of the names of entries that describe other entries, and are hidden from observers of all entries.
    package static let hiddenPrefix = reservedPrefix + "cloud/"

    /// The names under which default values are registered: those of the fallback, if there is one.
    var registered: EntryName {
        fallback.map { EntryName(own: $0, path: path, earlier: earlierFallback) } ?? self
    }

    /// The name as text; for a value inside nested dictionaries, the names on the way to it, each after a `.`: `.server.port`.
    ///
    /// The `.` at the beginning distinguishes it from the entry `server.port`.
    var text: String {
        path.isEmpty ? own : Self.text(of: [own] + path)
    }

    /// The text of a path of names, each after a `.`.
    package static func text(of path: [String]) -> String {
        path.reduce(into: "") { $0 += "." + escaped($1) }
    }

    // As in the key paths of plutil.
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "\\") }) else { return name }
        return name.unicodeScalars.reduce(into: "") { text, scalar in
            if scalar == "." || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
    }

    /// Transforms the name, and the earlier ones, of which some may become equal.
    mutating func rename(_ transform: (String) -> String) {
        own = transform(own)
        earlier = earlier.map(transform).reduce(into: []) { if $1 != own, !$0.contains($1) { $0.append($1) } }
        kept = Set(kept.map(transform)).intersection(earlier)
    }

    /// The names of all entries from which the key may read its value.
    var all: [String] {
        hasOthers ? [own] + earlier + (fallback.map { [$0] } ?? []) + earlierFallback : [own]
    }

    /// Whether the key may read its value from an entry under an earlier name.
    var hasEarlier: Bool {
        !earlier.isEmpty || !earlierFallback.isEmpty
    }

    /// Whether the key may read its value from another entry than its own.
    var hasOthers: Bool {
        fallback != nil || !earlier.isEmpty
    }

    /// Whether a value of the key's own is stored, under the present or an earlier name.
    func isStored(_ stored: (String) -> PropertyListValue?) -> Bool {
        value(stored) != nil
    }

    /// The value of the key's own, under the present or an earlier name.
    func value(_ stored: (String) -> PropertyListValue?) -> PropertyListValue? {
        value(own, earlier, stored)
    }

    /// The value of the fallback, under its present or an earlier name; nil without one.
    func fallbackValue(_ stored: (String) -> PropertyListValue?) -> PropertyListValue? {
        fallback.flatMap { value($0, earlierFallback, stored) }
    }

    /// The first earlier name with a value stored after the key's own one, since setting the key removes or replaces values there.
    func superseded(_ stored: (String) -> PropertyListValue?) -> (name: String, value: PropertyListValue)? {
        guard !earlier.isEmpty, let present = leaf(stored(own)) else { return nil }
        for name in earlier {
            if let value = stored(name), !kept.contains(name) || value != present { return (name, value) }
        }
        return nil
    }

    /// The entry, and the path inside it, that has the key's value, under the present or an earlier name; the own entry if none has.
    func location(_ stored: (String) -> PropertyListValue?) -> EntryName {
        location(own, earlier, stored)
    }

    /// The same for the fallback; nil without one.
    func fallbackLocation(_ stored: (String) -> PropertyListValue?) -> EntryName? {
        fallback.map { location($0, earlierFallback, stored) }
    }

    /// The entry, and the path inside it, of the value of a source, if it is a stored one.
    func location(of source: StoredEntry.Level?, _ stored: (String) -> PropertyListValue?) -> EntryName {
        (source == .fallback ? fallbackLocation(stored) : nil) ?? location(stored)
    }

    private func location(_ name: String, _ earlier: [String], _ stored: (String) -> PropertyListValue?) -> EntryName {
        if !earlier.isEmpty, leaf(stored(name)) == nil, let earlier = earlier.first(where: { stored($0) != nil }) {
            return EntryName(own: earlier)
        }
        return EntryName(own: name, path: path)
    }

    func entry(registered: PropertyListValue?, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        StoredEntry(stored: value(stored), fallback: fallbackValue(stored), registered: registered)
    }

    private func value(
        _ name: String, _ earlier: [String], _ stored: (String) -> PropertyListValue?
    ) -> PropertyListValue? {
        if let value = leaf(stored(name)) { return value }
        return earlier.isEmpty ? nil : earlier.lazy.compactMap(stored).first
    }
}

/// For each path, the shortest one of the set that is a prefix of it: that of the outermost value in which its value is.
func outermostPaths(_ paths: Set<[String]>) -> [[String]: [String]] {
    paths.reduce(into: [:]) { outermost, path in
        outermost[path] = (0..<path.count).lazy.map { Array(path[..<$0]) }.first(where: paths.contains) ?? path
    }
}

// Values inside dictionaries.
extension EntryName {
    /// The value at the path inside an entry's value; the value itself for an empty path.
    func leaf(_ value: PropertyListValue?) -> PropertyListValue? {
        path.isEmpty ? value : path.reduce(value) { $0?[$1] }
    }

    /// Whether the value at the path is inside the one at another path of the same entry.
    func isInside(_ other: EntryName) -> Bool {
        other.path.count < path.count && path.starts(with: other.path)
    }

    /// An entry's value in which the value at the path is set, or removed with nil. Dictionaries that are missing are created.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)`` if a value on the path is not a dictionary, which is not replaced.
    func replacing(_ leaf: PropertyListValue?, in value: PropertyListValue?) throws(StorageError) -> PropertyListValue? {
        var whole = value
        try replace(leaf, in: &whole)
        return whole
    }

    /// Sets the value at the path inside an entry's value, or removes it with nil, without copying dictionaries that are not shared.
    func replace(_ leaf: PropertyListValue?, in value: inout PropertyListValue?) throws(StorageError) {
        if path.isEmpty { return value = leaf }
        guard let leaf else {
            if self.leaf(value) != nil { Self.remove(path[...], from: &value) }
            return
        }
        try requireDictionaries(in: value)
        var whole = value.take() ?? .dictionary([:])
        whole[path: path] = leaf
        value = whole
    }

    /// Throws the error of ``replace(_:in:)``.
    func requireDictionaries(in value: PropertyListValue?) throws(StorageError) {
        var inner = value
        for (depth, step) in path.enumerated() {
            guard let dictionary = inner else { break }
            guard case .dictionary = dictionary else {
                let outer = EntryName(own: own, path: Array(path[..<depth])).text
                let found = SecretNames.contains(own) ? dictionary.typeName : dictionary.briefDescription
                throw .unencodable(key: text, reason: "the value of \"\(outer)\" is \(found), not a dictionary; remove it first")
            }
            inner = dictionary[step]
        }
    }

    /// Removes the value at a path, and dictionaries that have no other value.
    private static func remove(_ path: ArraySlice<String>, from value: inout PropertyListValue?) {
        guard let step = path.first, case .dictionary(var entries) = value.take() else { return value = nil }
        remove(path.dropFirst(), from: &entries[step])
        value = entries.isEmpty ? nil : .dictionary(entries)
    }
}
