import PropertyListCoding

/// Values by name as a storage has them; those of a binary property list are decoded when they are read.
struct StoredValues: Sendable {
    private enum Source: Sendable {
        case decoded([String: PropertyListValue])
        case encoded(LazyEntries, all: Once<[String: PropertyListValue]>)
    }

    private var source: Source
    // Names in the source that were removed: the source is shared, and removing from it would copy it.
    private var removed: Set<String> = []

    init(_ values: [String: PropertyListValue]) {
        source = .decoded(values)
    }

    init(_ entries: LazyEntries) {
        // Shared by all copies.
        source = .encoded(entries, all: Once { entries.decoded() })
    }

    subscript(name: String) -> PropertyListValue? {
        if !removed.isEmpty, removed.contains(name) { return nil }
        return switch source {
        case .decoded(let values): values[name]
        // All names are ASCII.
        case .encoded(let entries, _): name.inASCII.flatMap { entries[$0] }
        }
    }

    var count: Int {
        let count =
            switch source {
            case .decoded(let values): values.count
            case .encoded(let entries, _): entries.count
            }
        return count - removed.count
    }

    var isEmpty: Bool { count == 0 }

    /// The number of bytes in which the values are encoded; 0 if they are decoded.
    var encodedSize: Int {
        if case .encoded(let entries, _) = source { entries.size } else { 0 }
    }

    var names: [String] {
        let names =
            switch source {
            case .decoded(let values): Array(values.keys)
            case .encoded(let entries, _): entries.names
            }
        return removed.isEmpty ? names : names.filter { !removed.contains($0) }
    }

    var values: [String: PropertyListValue] {
        let values =
            switch source {
            case .decoded(let values): values
            case .encoded(_, let all): all.value
            }
        return removed.isEmpty ? values : values.filter { !removed.contains($0.key) }
    }

    mutating func remove(_ name: String) -> PropertyListValue? {
        guard let value = self[name] else { return nil }
        removed.insert(name)
        // The source retains what was removed until then: removing it earlier would copy or decode all others under the store's lock.
        if isEmpty { self = StoredValues([:]) }
        return value
    }

    /// Whether there is a value, which is not decoded.
    func contains(_ name: String) -> Bool {
        guard !removed.contains(name), case .encoded(let entries, _) = source else { return self[name] != nil }
        return name.inASCII.map(entries.contains) ?? false
    }

    /// Removes a value that is present, without decoding it.
    mutating func hide(_ name: String) {
        removed.insert(name)
    }

    /// Sets values, nil for one that is removed; decodes all others.
    mutating func merge(_ edits: [String: PropertyListValue?]) {
        var values = values
        // Moved out: with a second reference, the first edit would copy them.
        self = StoredValues([:])
        for (name, value) in edits { values[name] = value }
        self = StoredValues(values)
    }
}

extension String {
    /// The ASCII string that is equal to this one; nil if there is none.
    var inASCII: String? {
        if utf8.allSatisfy({ $0 < 0x80 }) { return self }
        // Strings are equal if the canonical decompositions of their characters are. Only three other characters decompose into ASCII.
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\u{212A}": result += "K"
            case "\u{37E}": result += ";"
            case "\u{1FEF}": result += "`"
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default: return nil
            }
        }
        return result
    }
}
