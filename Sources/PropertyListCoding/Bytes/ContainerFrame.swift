/// A container whose children a writer of text is writing.
struct ContainerFrame {
    let isDictionary: Bool
    var elements: [PropertyListValue] = []
    var entries: [String: PropertyListValue] = [:]
    /// The indices of the entries in the order of their keys.
    var order: [Dictionary<String, PropertyListValue>.Index] = []
    /// The number of children that were begun.
    var next = 0
    /// Whether it is the dictionary in a tagged object of JSON.
    var isTagged = false

    var count: Int { isDictionary ? entries.count : elements.count }
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
        let indices = Array(dictionary.indices)
        for index in indices {
            let start = keys.count
            dictionary.keys[index].withBytes { keys.append($0) }
            sorter.append(from: start, count: keys.count - start)
        }
        sorter.sort(in: keys.bytes)
        return ContainerFrame(isDictionary: true, entries: dictionary, order: indices.indices.map { indices[sorter[$0]] })
    }
}
