/// Sorts the keys of a dictionary by their UTF-8, so that equal dictionaries are written as the same bytes.
///
/// One sorter serves all dictionaries of a property list, one after the other.
struct KeySorter: ~Copyable {
    /// The position of a key's UTF-8.
    private typealias Text = (start: Int, count: Int)

    private var texts: ScratchArray<Text>
    /// Separate from the texts, because they are moved several times: with both in one array, binary.write takes 1.1 times as long.
    private var keys: ScratchArray<Key>
    /// The destination of a distribution pass.
    private var spare: ScratchArray<Key>

    // Smaller groups, and those with longer common prefixes, are sorted by comparison.
    // If all were, binary.write would take 1.5 times as long, and xml.write 1.3 times.
    private static let minimumDistributed = 65
    private static let maximumDepth = 8

    /// Creates a sorter in an arena with space for a number of keys; it may grow larger.
    init(capacity: Int, in arena: ScratchArena) {
        texts = ScratchArray(capacity: capacity, in: arena)
        keys = ScratchArray(capacity: capacity, in: arena)
        spare = ScratchArray(capacity: capacity, in: arena)
    }

    static func scratchSize(for count: Int) -> Int {
        ScratchArena.size(of: Text.self, count: count) + ScratchArena.size(of: Key.self, count: count) * 2
    }

    var count: Int { keys.count }

    /// The index, in the order in which keys were added, of the key at a position of the sorted order.
    subscript(position: Int) -> Int {
        keys[position].index
    }

    /// Adds a key by the position of its UTF-8 in the bytes passed to `sort(in:)`.
    mutating func append(from start: Int, count: Int) {
        keys.append(Key(index: keys.count))
        texts.append((start, count))
    }

    /// Removes the keys, and reserves space for others.
    mutating func removeAll(reserving capacity: Int) {
        texts.removeAll()
        texts.reserve(capacity)
        keys.removeAll()
        keys.reserve(capacity)
    }

    mutating func sort(in bytes: UnsafeRawBufferPointer) {
        spare.removeAll()
        spare.append(repeating: Key(index: 0), count: keys.count)
        let texts = UnsafeBufferPointer(texts.elements)
        Self.sort(keys.elements, spare: spare.elements, depth: 0) { key in
            let text = texts[key.index]
            precondition(text.start >= 0 && text.count >= 0 && text.count <= bytes.count - text.start)
            return UnsafeRawBufferPointer(rebasing: bytes[text.start..<text.start + text.count])
        }
    }
}

extension KeySorter {
    struct Key: BitwiseCopyable {
        let index: Int
        /// The 8 bytes after the common prefix of a group of keys, big-endian: they decide nearly every comparison.
        var word: UInt64 = 0

        func byte(at shift: UInt64) -> Int {
            Int(truncatingIfNeeded: word &>> shift & 0xFF)
        }
    }

    /// Sorts a group of keys by the bytes after their common prefix.
    private static func sort(
        _ keys: UnsafeMutableBufferPointer<Key>, spare: UnsafeMutableBufferPointer<Key>, depth: Int, text: (Key) -> UnsafeRawBufferPointer
    ) {
        readWords(of: keys, text)
        sortByWord(keys, spare: spare, depth: depth, text: text)
    }

    /// Sorts a group of keys by their words, and those with equal words by the bytes after them.
    private static func sortByWord(
        _ keys: UnsafeMutableBufferPointer<Key>, spare: UnsafeMutableBufferPointer<Key>, depth: Int, text: (Key) -> UnsafeRawBufferPointer
    ) {
        guard keys.count >= minimumDistributed, depth < maximumDepth else {
            var keys = keys
            return keys.sort { left, right in
                if left.word != right.word { return left.word < right.word }
                return text(left).lexicographicallyPrecedes(text(right))
            }
        }
        let (sorted, isComplete) = keys.distribute(with: spare)
        var start = 0
        while start < keys.count {
            var end = start + 1
            while end < keys.count, (keys[end].word ^ keys[start].word) & sorted == 0 { end += 1 }
            if end - start > 1 {
                let group = UnsafeMutableBufferPointer(rebasing: keys[start..<end])
                let spare = UnsafeMutableBufferPointer(rebasing: spare[start..<end])
                if isComplete {
                    sort(group, spare: spare, depth: depth + 1, text: text)
                } else {
                    sortByWord(group, spare: spare, depth: depth, text: text)
                }
            }
            start = end
        }
    }

    private static func readWords(of keys: UnsafeMutableBufferPointer<Key>, _ text: (Key) -> UnsafeRawBufferPointer) {
        guard let first = keys.first.map(text) else { return }
        var prefix = first.count
        for key in keys { prefix = first.commonPrefixLength(with: text(key), limit: prefix) }
        for index in keys.indices { keys[index].word = text(keys[index]).word(at: prefix).byteSwapped }
    }
}

extension UnsafeMutableBufferPointer<KeySorter.Key> {
    /// Radix sort by word, least significant byte first; by the most significant byte only, if the words differ in many.
    ///
    /// Returns the bits of the words by which the keys are sorted, and whether keys that are equal in them have equal words.
    fileprivate func distribute(with spare: Self) -> (sorted: UInt64, isComplete: Bool) {
        var (keys, spare) = (self, spare)
        let first = self[0].word
        let differences = reduce(0) { $0 | ($1.word ^ first) }
        var shifts = stride(from: UInt64(0), to: 64, by: 8).filter { differences >> $0 & 0xFF != 0 }
        // Without, binary.write takes 1.05 times as long: one key with another first letter causes eight passes.
        let isComplete = shifts.count <= Self.maximumPasses
        if !isComplete { shifts = shifts.suffix(1) }
        for shift in shifts {
            keys.distribute(into: spare, byByteAt: shift)
            swap(&keys, &spare)
        }
        if keys.baseAddress != baseAddress { _ = update(from: keys) }
        return (shifts.first.map { .max << $0 } ?? .max, isComplete)
    }

    private static var maximumPasses: Int { 4 }

    /// Moves the keys in the order of one byte of their words; keys with the same byte keep their order.
    private func distribute(into output: Self, byByteAt shift: UInt64) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { nexts in
            nexts.initialize(repeating: 0)
            for key in self { nexts[key.byte(at: shift)] += 1 }
            var start = 0
            for byte in nexts.indices { (nexts[byte], start) = (start, start + nexts[byte]) }
            for key in self {
                let byte = key.byte(at: shift)
                output[nexts[byte]] = key
                nexts[byte] += 1
            }
        }
    }
}

extension Range<Int> {
    /// The first index that meets a condition, which all after it meet; the end if there is none.
    package func partitioningIndex<Failure: Error>(_ condition: (Int) throws(Failure) -> Bool) throws(Failure) -> Int {
        var candidates = self
        while !candidates.isEmpty {
            let middle = candidates.lowerBound + candidates.count / 2
            candidates = try condition(middle) ? candidates.lowerBound..<middle : middle + 1..<candidates.upperBound
        }
        return candidates.lowerBound
    }
}
