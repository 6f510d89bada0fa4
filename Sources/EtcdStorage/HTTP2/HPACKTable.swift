/// The fields that header blocks refer to by an index: those of the standard, and then those of earlier blocks, the newest first (RFC 7541,
/// section 2.3).
struct HPACKTable: Sendable {
    /// A field with its sizes as it was sent, which differ from those of strings in which invalid UTF-8 was repaired.
    struct Entry: Sendable {
        /// The field.
        let field: HTTPField
        /// The number of bytes of the name.
        let nameSize: Int
        /// The size of the field in a table and in a list of fields: the bytes of its name and value, and 32.
        let size: Int

        /// Computes the size from the number of bytes of the name and the value.
        init(_ field: HTTPField, nameSize: Int, valueSize: Int) {
            (self.field, self.nameSize, size) = (field, nameSize, nameSize + valueSize + 32)
        }
    }

    /// How large the fields of earlier blocks may be together; the oldest ones are removed if they are larger.
    private var maximumSize: Int
    private var size = 0
    // The oldest one first. Those before `start` were removed; the room for them is freed when they are as many as the others.
    private var entries: [Entry?] = []
    private var start = 0

    /// Begins with the fields of the standard only.
    init(maximumSize: Int) {
        self.maximumSize = maximumSize
    }

    /// The entry with an index, from 1 on.
    func entry(at index: Int) throws(HTTP2Violation) -> Entry {
        let fixed = Self.fixedEntries
        if index <= fixed.count, index > 0 { return fixed[index - 1] }
        let position = entries.count - (index - fixed.count)
        guard index > 0, position >= start, let entry = entries[position] else { throw .headerIndex }
        return entry
    }

    /// Adds a field; one that is larger than the whole table only removes all others.
    mutating func add(_ entry: Entry) {
        removeOldest(downTo: maximumSize - entry.size)
        guard entry.size <= maximumSize else { return }
        entries.append(entry)
        size += entry.size
    }

    /// Changes the maximum, and removes the oldest fields that are too much for it.
    mutating func resize(to maximumSize: Int) {
        self.maximumSize = maximumSize
        removeOldest(downTo: maximumSize)
    }

    private mutating func removeOldest(downTo limit: Int) {
        while size > limit, start < entries.count {
            size -= entries[start]?.size ?? 0
            entries[start] = nil
            start += 1
        }
        guard start * 2 > entries.count else { return }
        entries.removeFirst(start)
        start = 0
    }
}

// MARK: - Fields of the standard

extension HPACKTable {
    /// The index of a field of the standard.
    static func index(of field: HTTPField) -> Int? {
        fixedIndices[field]
    }

    /// The first index of a field of the standard with a name.
    static func index(ofName name: String) -> Int? {
        fixedNameIndices[name]
    }

    private static let fixedIndices = [HTTPField: Int](
        fixedEntries.enumerated().map { ($1.field, $0 + 1) }, uniquingKeysWith: { first, _ in first })

    private static let fixedNameIndices = [String: Int](
        fixedEntries.enumerated().map { ($1.field.name, $0 + 1) }, uniquingKeysWith: { first, _ in first })

    private static let fixedEntries = fixedFields.map { name, value in
        Entry(HTTPField(name: name, value: value), nameSize: name.utf8.count, valueSize: value.utf8.count)
    }

    /// The names and values of RFC 7541, appendix A.
    private static let fixedFields = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
        (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
        (":status", "404"), (":status", "500"), ("accept-charset", ""), ("accept-encoding", "gzip, deflate"), ("accept-language", ""),
        ("accept-ranges", ""), ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
        ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""),
        ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
        ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
        ("via", ""), ("www-authenticate", ""),
    ]
}
