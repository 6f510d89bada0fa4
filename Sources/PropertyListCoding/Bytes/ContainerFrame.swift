/// A container whose children a writer of text is writing.
struct ContainerFrame {
    let isDictionary: Bool
    var elements: [PropertyListValue] = []
    var entries: [(key: String, value: PropertyListValue)] = []
    /// The indices of the entries in the order of their keys.
    var order: [Int] = []
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
        let entries = Array(dictionary)
        sorter.removeAll(reserving: entries.count)
        keys.truncate(to: 0)
        for (key, _) in entries {
            let start = keys.count
            key.withBytes { keys.append($0) }
            sorter.append(from: start, count: keys.count - start)
        }
        sorter.sort(in: keys.bytes)
        return ContainerFrame(isDictionary: true, entries: entries, order: (0..<sorter.count).map { sorter[$0] })
    }
}
