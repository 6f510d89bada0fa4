/// Gathers the entries of a dictionary that is being read.
struct EntryCollector {
    // In place of the entries if keys are distinct: to compare each with those that are there takes as long as to put it there. The type is the
    // standard library's, which has it for Foundation.
    private var distinct: _DictionaryBuilder<String, PropertyListValue>?
    private var entries: [String: PropertyListValue] = [:]

    init() {}

    /// Makes room for exactly so many entries. If keys that are said to be distinct are not, the dictionary has some of them twice.
    init(count: Int, areKeysDistinct: Bool) {
        if areKeysDistinct {
            distinct = _DictionaryBuilder(count: count)
        } else {
            entries.reserveCapacity(count)
        }
    }

    /// Adds an entry; false if there was one of that key, in whose place it stands.
    @inline(__always)
    mutating func add(_ key: String, _ value: consuming PropertyListValue) -> Bool {
        guard distinct == nil else {
            distinct?.add(key: key, value: value)
            return true
        }
        let count = entries.count
        entries[key] = consume value
        return entries.count > count
    }

    /// Whether the key that stands there for this one has the same bytes.
    func hasSameBytes(_ key: String) -> Bool {
        entries.hasSameBytes(key)
    }

    /// All of them, which leaves none here.
    mutating func take() -> [String: PropertyListValue] {
        if let distinct = distinct.take() { return distinct.take() }
        var taken: [String: PropertyListValue] = [:]
        swap(&taken, &entries)
        return taken
    }
}
