import FoundationSubset
import PropertyListCoding

/// The content of a property-list file at one moment.
struct FileContent: Sendable {
    /// The identity of the file when it was read or written; nil for a missing file.
    let identity: FileIdentity?
    let bytes: Data
    var entries: StorageEntries
    let format: PropertyListFormat
    /// Whether the file had been changed so recently that a further write may have left its identity unchanged.
    let isYoung: Bool
    private let hash: Once<UInt64>
    /// Whether it was found that the entries cannot be decoded one by one when they are read.
    var isIndivisible = false

    /// Whether the list is so large that memory matters, and has decoded entries that may be decoded when they are read instead.
    var hasReleasableValues: Bool {
        bytes.count >= largeListSize && format == .binary && !isIndivisible && entries.hasDecodedValues
    }

    /// The checksum of the bytes as a journal records it.
    var checksum: UInt64 { hash.value }

    /// Whether there is a file, and it is empty: a list without entries.
    var isBlank: Bool { identity != nil && bytes.isEmpty }

    /// The entries in the file; without one, none: its last values may be kept in memory, but other processes do not know them.
    var storedEntries: StorageEntries { identity == nil ? StorageEntries() : entries }

    /// Whether the list was the same when its identity was found, possibly with other times: a program may change these all the time.
    ///
    /// - Parameter earlier: the content that was read before that; nil if none was.
    func isUnchanged(since earlier: FileContent?, at found: FileIdentity?) -> Bool {
        if identity == found { return true }
        guard let identity, let found, let earlier, let before = earlier.identity else { return false }
        return identity.isSameFile(as: found) && identity.isSameFile(as: before) && bytes == earlier.bytes
    }

    /// A file that does not exist.
    ///
    /// - Parameters:
    ///   - entries: the entries that the first write stores besides its own.
    ///   - format: the format in which the first write creates it.
    static func missing(entries: StorageEntries = StorageEntries(), format: PropertyListFormat) -> FileContent {
        FileContent(identity: nil, bytes: Data(), entries: entries, format: format, lookedAt: .distantPast)
    }

    /// - Parameter time: a time before the file was read: it may have been written meanwhile.
    init(
        identity: FileIdentity?, bytes: Data, entries: StorageEntries, format: PropertyListFormat, lookedAt time: Date
    ) {
        self.identity = identity
        self.bytes = bytes
        self.entries = entries
        self.format = format
        hash = Once { JournalFormat.checksum(bytes) }
        isYoung = identity?.mayHideWrites(after: time) ?? false
    }

    /// Decodes a property list whose root is a dictionary.
    init(bytes: Data, identity: FileIdentity, file: String, lookedAt time: Date) throws(StorageError) {
        if let entries = LazyEntries(bytes) {
            self.init(identity: identity, bytes: bytes, entries: StorageEntries(entries), format: .binary, lookedAt: time)
            return
        }
        let root: PropertyListValue
        let format: PropertyListFormat
        do {
            (root, format) = try PropertyListValue.decode(bytes)
        } catch {
            throw .malformed(file: file, offset: error.offset, line: error.line, column: error.column, reason: error.reason)
        }
        guard case .dictionary(let entries) = root else {
            throw .malformed(file: file, offset: nil, reason: "its root is of type \(root.typeName), not a dictionary")
        }
        self.init(identity: identity, bytes: bytes, entries: StorageEntries(entries), format: format, lookedAt: time)
        isIndivisible = true
    }
}
