import FoundationSubset

/// The layout of a journal; the article Durability describes it byte by byte.
enum JournalFormat {
    enum Record {
        static let length = 0
        static let kind = 4
        static let checksum = 8
        static let revision = 16
        static let bodyLength = 24
        static let body = 32
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

    /// The hash of the folder and the name of a list; see ``JournalHeader/location``.
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

struct JournalHeader: Sendable, Equatable {
    static let size = 64
    /// `plJRNL01`, in which the digits are the version.
    static let magic: UInt64 = 0x3130_4c4e_524a_6c70

    let history: UInt64
    let seed: UInt64
    /// The revision before the first record.
    let first: UInt64
    /// The inode number of the journal itself: a copy has another one.
    let inode: UInt64
    /// A hash of the folder and the name of the list: a second name of the same journal is a copy as well.
    let location: UInt64
    /// The run of the system in which the journal was made: revisions that were given out before may have been lost since.
    let boot: UInt64

    /// The history as revisions name it.
    var historyName: String { String(history, radix: 16) }

    /// The history that the same records have in a later run of the system.
    func history(in boot: UInt64) -> UInt64 {
        boot == self.boot ? history : history ^ boot
    }

    /// Whether the journal was made in another run of the system, as far as the present one is known.
    func isOfOtherRun(than boot: UInt64) -> Bool {
        boot != self.boot && boot != 0
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
        [Self.magic, history, seed, first, inode, location, boot, chain].withUnsafeBytes { Data($0) }
    }
}

extension JournalHeader {
    /// - Returns: nil if the bytes are not those of a journal.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.size else { return nil }
        let words = (0..<8).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self) }
        self.init(history: words[1], seed: words[2], first: words[3], inode: words[4], location: words[5], boot: words[6])
        guard words[0] == Self.magic, words[7] == chain else { return nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether they begin like a journal or an edit log of another version, which only a library that knows it may continue or remove.
    ///
    /// - Parameter magic: the first word of this version, whose last two bytes are the version.
    func isOtherVersion(of magic: UInt64) -> Bool {
        guard count >= 8 else { return false }
        let difference = loadUnaligned(as: UInt64.self) ^ magic
        return difference != 0 && difference << 16 == 0
    }

    var isZero: Bool {
        guard let first, let start = baseAddress else { return true }
        // Each byte is equal to the next one: a commit looks at 12 KB, for which a loop takes a twentieth of its instructions.
        return first == 0 && memcmp(start, start + 1, count - 1) == 0
    }
}
