import FoundationSubset

/// The children of a container and their edits, as an editor of text needs them, which reads one child after the other.
struct ContainerEdits {
    let isDictionary: Bool
    private var entries: [String: PropertyListValue] = [:]
    // Those that remain to be made.
    private var edits: [String: PropertyListValue?] = [:]
    private var elements: [PropertyListValue] = []
    private var newElements: [PropertyListValue] = []

    /// The edits of a dictionary: the value of each entry that is set, nil for one that is removed.
    init(of entries: [String: PropertyListValue], _ edits: [String: PropertyListValue?]) {
        (isDictionary, self.entries, self.edits) = (true, entries, edits)
    }

    /// The edits that turn a value into another one; nil if it has to be replaced as a whole.
    init?(from old: PropertyListValue?, to new: PropertyListValue) {
        switch (old, new) {
        case (.dictionary(let old), .dictionary(let new)):
            (isDictionary, entries) = (true, old)
            // Containers are compared child by child: comparing them here as well would take quadratic time.
            for (key, value) in new where value.isContainer || old[key] != value { edits.updateValue(value, forKey: key) }
            for key in old.keys where new[key] == nil { edits.updateValue(nil, forKey: key) }
        case (.array(let old), .array(let new)):
            guard old.count == new.count || zip(old, new).allSatisfy({ $0 == $1 }) else { return nil }
            (isDictionary, elements, newElements) = (false, old, new)
        default: return nil
        }
    }

    var count: Int { isDictionary ? entries.count : elements.count }

    /// Whether no more entries of a dictionary change.
    var isDone: Bool { isDictionary && edits.isEmpty }

    /// The present value of a child with an edit, and the edit: nil if there is none, the inner nil if it is removed.
    ///
    /// - Parameters:
    ///   - key: the key of an entry, each of which is passed once; nil for an element.
    ///   - index: the index of an element.
    mutating func next(_ key: String?, at index: Int) -> (value: PropertyListValue?, edit: PropertyListValue??) {
        if let key {
            guard let edit = edits.removeValue(forKey: key) else { return (nil, nil) }
            return (entries[key], edit)
        }
        guard index < elements.count else { return (nil, nil) }
        guard index < newElements.count else { return (elements[index], .some(nil)) }
        // With other counts the common elements are equal.
        return (elements[index], elements.count == newElements.count ? .some(newElements[index]) : nil)
    }

    /// The children that follow a number of read ones, entries in the order of their keys.
    func additions(after count: Int) -> [(key: String?, value: PropertyListValue)] {
        guard isDictionary else { return newElements.dropFirst(count).map { (nil, $0) } }
        return edits.compactMap { key, value in value.map { (key, $0) } }.sorted { left, right in
            (left.0 ?? "").utf8.lexicographicallyPrecedes((right.0 ?? "").utf8)
        }
    }
}

/// The changes of a text: parts that are replaced.
struct TextChanges {
    private var changes: [(range: Range<Int>, text: Data)] = []

    mutating func replace(_ range: Range<Int>, with text: some Sequence<UInt8> = EmptyCollection()) {
        changes.append((range, Data(text)))
    }

    /// The bytes after the changes, of which several at one offset keep their order; where two ranges overlap, both are removed.
    func applied(to bytes: ByteView) -> Data {
        var output = OutputBuffer(capacity: bytes.count + bytes.count / 8)
        var done = 0
        let order = changes.indices.sorted { (changes[$0].range.lowerBound, $0) < (changes[$1].range.lowerBound, $1) }
        for (range, text) in order.map({ changes[$0] }) {
            if range.lowerBound > done { output.append(bytes[done..<range.lowerBound]) }
            text.withUnsafeBytes { output.append($0) }
            done = max(done, range.upperBound)
        }
        output.append(bytes[done..<bytes.count])
        return output.data()
    }
}
