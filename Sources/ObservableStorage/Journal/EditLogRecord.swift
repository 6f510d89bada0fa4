import PropertyListCoding

/// An edit of an entry, or of a value inside its dictionary, as an edit log contains it.
struct LoggedEdit: Sendable, Equatable {
    let key: String
    /// The path of the value inside the entry's dictionary; empty for an edit of the whole entry.
    var path: [String] = []
    /// The fingerprint of the value that was replaced.
    var over: UInt64
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// The revision of the store in which the edit was made.
    var sequence: UInt64
    /// Whether it is replayed by itself; otherwise all edits of its record, which have the same revision, are replayed or none.
    var isAlone = true
}

/// The layout of an edit log; the article Durability describes it byte by byte.
enum EditLogFormat {
    /// The header page.
    enum Header {
        static let size = 4_096
        /// `plEDIT01`, in which the digits are the version.
        static let magic: UInt64 = 0x3130_5449_4445_6c70
        static let magicOffset = 0
        static let store = 8
        static let turns = (16, 32)
        static let halfSize = 24
        /// Edits up to this sequence are in the property list.
        static let committed = 40
        /// Identifies the run of the system in which the log was made.
        static let boot = 48
        /// The inode number and the modification time of the property list in which the committed edits are.
        static let listInode = 56
        static let listTime = 64
        /// The store number of the file that this one replaces, and whose edits it has.
        static let replaced = 72
    }

    /// The fixed part of a record.
    enum Record {
        /// A whole word, stored last.
        static let length = 0
        static let checksum = 8
        static let sequence = 16
        static let count = 24
        static let edits = 28
    }

    /// The size of a half, at least and at most: edits that need more are not logged. A file is twice as large, and has a header.
    static let smallestHalf = 64 << 10
    static let largestHalf = 32 << 20
    static let largestFile = Header.size + 2 * largestHalf
    /// Up to this size, a half is made larger than the pending edits need, so that edits at full speed during a commit fit.
    static let largestGrownHalf = 4 << 20
    /// How many times as large the next larger file is.
    static let growth = 16

    /// The initial state of the checksums of a half, which changes each time the half is emptied.
    static func checksumSeed(store: UInt64, turn: UInt64) -> FoldedHash {
        var hash = FoldedHash(seed: store)
        hash.combine(turn)
        return hash
    }

    /// The checksum of a record without its length field; it depends on the record's offset.
    @inline(__always)
    static func checksum(_ record: UnsafeRawPointer, length: Int, offset: Int, seed: FoldedHash) -> UInt64 {
        var hash = seed
        hash.combine(UInt64(truncatingIfNeeded: offset), UInt64(truncatingIfNeeded: length))
        var position = Record.sequence
        while length - position >= 16 {
            hash.combine(
                record.loadUnaligned(fromByteOffset: position, as: UInt64.self),
                record.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self))
            position += 16
        }
        if position < length { hash.combine(record.loadUnaligned(fromByteOffset: position, as: UInt64.self)) }
        return hash.value
    }
}

extension [LoggedEdit] {
    /// The edits in arrays, each of which is one record.
    var together: [[LoggedEdit]] {
        reduce(into: []) { records, edit in
            if let last = records.last?.last, !edit.isAlone, !last.isAlone, last.sequence == edit.sequence {
                records[records.count - 1].append(edit)
            } else {
                records.append([edit])
            }
        }
    }

    /// The edits without superseded ones: of each value, the last edit of each commit that was attempted and the last of all remain. Edits
    /// of an entry and of values inside it keep their order.
    consuming func compacted(keeping attempts: [UInt64]) -> [LoggedEdit] {
        var isSuperseded = [Bool](repeating: false, count: count)
        // The indices of the last edit of each whole entry, and of those inside it since then.
        var (whole, inner): ([String: Int], [String: [[String]: Int]]) = ([:], [:])
        for index in indices {
            let (key, path, sequence) = (self[index].key, self[index].path, self[index].sequence)
            let last: Int?
            if path.isEmpty {
                last = whole.updateValue(index, forKey: key)
                if !inner.isEmpty { inner[key] = nil }
            } else {
                last = inner[key, default: [:]].updateValue(index, forKey: path)
                whole[key] = nil
            }
            guard let last, !attempts.contains(where: { self[last].sequence <= $0 && $0 < sequence }),
                self[last].value.fingerprint == self[index].over
            else { continue }
            self[index].over = self[last].over
            isSuperseded[last] = true
        }
        return indices.compactMap { isSuperseded[$0] ? nil : self[$0] }
    }
}
