/// A container whose children a writer of text is writing.
struct ContainerFrame {
    let isDictionary: Bool
    var elements: [PropertyListValue] = []
    var entries: [String: PropertyListValue] = [:]
    /// The indices of the entries in the order of their keys.
    var order: [Dictionary<String, PropertyListValue>.Index] = []
    /// The number of children that were begun.
    private(set) var next = 0
    /// The sum of what was read ahead, so that the compiler does not remove the reading.
    private var readAhead = 0
    /// Whether it is the dictionary in a tagged object of JSON.
    var isTagged = false

    var count: Int { isDictionary ? entries.count : elements.count }

    init(elements: [PropertyListValue]) {
        self.elements = elements
        isDictionary = false
    }

    fileprivate init(entries: [String: PropertyListValue], order: [Dictionary<String, PropertyListValue>.Index]) {
        (self.entries, self.order) = (entries, order)
        isDictionary = true
    }

    /// Begins the next child; an element has no key.
    mutating func nextChild() -> (key: String?, value: PropertyListValue) {
        defer { next += 1 }
        guard isDictionary else { return (nil, elements[next]) }
        if next.isMultiple(of: Self.batchSize) { readBatch() }
        return entries[order[next]]
    }

    private static let batchSize = 32

    /// Reads the next entries without retaining them, so that the processor waits for the cache misses of all of them at the same time.
    ///
    /// Without, peers.libplist.xml.write.mixed.100000 takes 1.2 times as long.
    private mutating func readBatch() {
        var sum = 0
        for index in order[next..<min(next + Self.batchSize, order.count)] {
            sum &+= entries.keys[index].utf8.count &+ (entries.values[index].isContainer ? 1 : 0)
        }
        readAhead &+= sum
    }
}

/// Makes the frames of dictionaries, whose entries are written in the order of their keys, so that equal ones are the same bytes.
struct DictionaryFrames: ~Copyable {
    private var sorter: KeySorter
    /// The keys of a dictionary, one after the other, to be sorted.
    private var keys = OutputBuffer()

    /// - Parameter value: the root, whose size determines the space.
    init(for value: PropertyListValue) {
        let count = value.isDictionary ? value.childCount : 0
        sorter = KeySorter(capacity: count, in: ScratchArena(size: KeySorter.scratchSize(for: count)))
    }

    mutating func frame(of dictionary: [String: PropertyListValue]) -> ContainerFrame {
        sorter.removeAll(reserving: dictionary.count)
        keys.truncate(to: 0)
        // Indices, because a copy of the entries would retain each of them, which is a cache miss for each.
        var indices: [Dictionary<String, PropertyListValue>.Index] = []
        indices.reserveCapacity(dictionary.count)
        var index = dictionary.startIndex
        while index != dictionary.endIndex {
            let start = keys.count
            dictionary.keys[index].withBytes { keys.append($0) }
            sorter.append(from: start, count: keys.count - start)
            indices.append(index)
            dictionary.formIndex(after: &index)
        }
        guard indices.count > 1 else { return ContainerFrame(entries: dictionary, order: indices) }
        sorter.sort(in: keys.bytes)
        return ContainerFrame(entries: dictionary, order: indices.indices.map { indices[sorter[$0]] })
    }
}
