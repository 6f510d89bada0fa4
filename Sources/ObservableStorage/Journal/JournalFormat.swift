import FoundationSubset

/// The layout of a journal; the article Durability describes it byte by byte.
enum JournalFormat {
    enum Header {
        static let size = 64
        /// `plJRNL01`, in which the digits are the version.
        static let magic: UInt64 = 0x3130_4c4e_524a_6c70
        static let history = 8
        static let seed = 16
        /// The revision before the first record.
        static let first = 24
        /// The inode number of the journal itself: a copy has another one.
        static let inode = 32
        /// A hash of the folder and the name of the list: a second name of the same journal is a copy as well.
        static let location = 40
        /// The run of the system in which the journal was made: revisions that were given out before may have been lost since.
        static let boot = 48
        static let checksum = 56
    }

    enum Record {
        static let length = 0
        static let kind = 4
        static let checksum = 8
        static let revision = 16
        static let bodyLength = 24
        static let body = 32
    }

    /// The flags of the record of a list.
    enum ListFlag {
        /// The list exists.
        static let file: UInt32 = 1
        static let xml: UInt32 = 2
        static let gap: UInt32 = 4
        static let placed: UInt32 = 8
        static let json: UInt32 = 16
    }

    /// The number of zero bytes that are written after the records when a journal grows: a commit that only replaces zeros is durable
    /// after 82 us rather than 120, and on a busy disk after 90 rather than 2,700, because the file system writes no metadata.
    static let room = 65_536
    /// The number of bytes that are read first after the last known record.
    static let tail = 4_096
    /// The largest number of bytes that are kept when a journal is shortened.
    static let maximumKept = 256 << 20

    enum Kind: UInt32 {
        case commit = 1
        case list = 2
        case placed = 3
    }

    /// The checksum of a record, which also depends on the one before.
    static func checksum(_ record: UnsafeRawBufferPointer, after previous: UInt64) -> UInt64 {
        var hash = FoldedHash(seed: previous)
        hash.combine(record.loadUnaligned(as: UInt64.self))
        hash.combine(UnsafeRawBufferPointer(rebasing: record[Record.revision...]))
        return hash.value
    }

    /// Whether a file is a journal of another version, which only a library that knows it may continue or remove.
    static func isOtherVersion(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 8 else { return false }
        let magic = bytes.loadUnaligned(as: UInt64.self)
        return magic != Header.magic && withUnsafeBytes(of: magic) { $0.starts(with: "plJRNL".utf8) }
    }

    /// The hash of the folder and the name of a list; see ``Header/location``.
    static func location(of list: ResolvedPath, in folder: FileIdentity?) -> UInt64 {
        var hash = FoldedHash(seed: folder?.inode ?? 0)
        Array(list.name.utf8).withUnsafeBytes { hash.combine($0) }
        return hash.value
    }

    static func checksum(_ bytes: Data) -> UInt64 {
        var hash = FoldedHash(seed: 3)
        bytes.withUnsafeBytes { hash.combine($0) }
        return hash.value
    }
}

/// The header of a journal.
struct JournalHeader: Sendable, Equatable {
    let history: UInt64
    let seed: UInt64
    let first: UInt64
    let inode: UInt64
    let location: UInt64
    let boot: UInt64

    /// The history as revisions name it.
    var historyName: String { String(history, radix: 16) }

    /// The history that the same records have in a later run of the system.
    func history(in boot: UInt64) -> UInt64 {
        boot == self.boot ? history : history ^ boot
    }

    /// The history that the records had before the system was started, if they are as old.
    var formerHistory: UInt64 { history ^ boot }

    /// Whether the journal has replaced another one, and has its history.
    func continues(_ earlier: JournalHeader) -> Bool {
        earlier.history == history || earlier.history == formerHistory
    }

    /// The checksum on which that of the first record depends.
    var chain: UInt64 {
        var hash = FoldedHash(seed: seed)
        for word in [history, first, inode, location, boot] { hash.combine(word) }
        return hash.value
    }

    var bytes: Data {
        typealias Header = JournalFormat.Header
        var data = Data(count: Header.size)
        data.withUnsafeMutableBytes { bytes in
            func put(_ word: UInt64, at offset: Int) { bytes.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
            put(Header.magic, at: 0)
            put(history, at: Header.history)
            put(seed, at: Header.seed)
            put(first, at: Header.first)
            put(inode, at: Header.inode)
            put(location, at: Header.location)
            put(boot, at: Header.boot)
            put(chain, at: Header.checksum)
        }
        return data
    }
}

extension JournalHeader {
    /// - Returns: nil if the bytes are not those of a journal.
    init?(_ bytes: UnsafeRawBufferPointer) {
        typealias Header = JournalFormat.Header
        guard bytes.count >= Header.size else { return nil }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard word(0) == Header.magic else { return nil }
        self.init(
            history: word(Header.history), seed: word(Header.seed), first: word(Header.first), inode: word(Header.inode),
            location: word(Header.location), boot: word(Header.boot))
        guard word(Header.checksum) == chain else { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are zero.
    var isZero: Bool {
        guard let first, let start = baseAddress else { return true }
        // Each byte is equal to the next one: a commit looks at 12 KB, for which a loop takes a twentieth of its instructions.
        return first == 0 && memcmp(start, start + 1, count - 1) == 0
    }
}
