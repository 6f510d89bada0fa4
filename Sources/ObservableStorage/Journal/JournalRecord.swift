import FoundationSubset
import PropertyListCoding

enum JournalRecord: Sendable, Equatable {
    /// Edits that were made together.
    indirect case commit(JournalCommit)
    /// A property list with everything up to a revision, which is in place, or about to be.
    indirect case list(JournaledList)
    /// The list that was announced last is in place.
    case placed
}

/// A property list as a journal knows it: with everything up to a revision.
struct JournaledList: Sendable, Equatable {
    /// The recorded part of the identity of the file; nil if there is no file.
    var identity: FileIdentity?
    /// The checksum of its bytes, by which it is recognized in a copy of the folder.
    var checksum: UInt64
    let revision: UInt64
    let format: PropertyListFormat
    /// Values that were in the storage at that revision instead of those of the list, which another program has written.
    var overrides: [String: StorageCommit.Edit] = [:]
    /// Whether the changes since the previous revision are unknown.
    var isGap = false
    /// Whether it was in place when this was recorded.
    var isPlaced = false

    /// Whether it is missing because it was malformed and was moved aside, and not because it was deleted.
    var isQuarantined: Bool { identity == nil && isGap && !isPlaced }

    /// Whether this is the same list, also if one of the two was not known to be in place.
    func isSame(as other: JournaledList?) -> Bool {
        other.map { ($0.identity, $0.checksum, $0.revision) == (identity, checksum, revision) } ?? false
    }

    func isFile(_ found: FileIdentity?) -> Bool {
        identity == found?.recorded
    }
}

extension FileIdentity {
    /// The part that a journal records: renaming changes the other times.
    var recorded: FileIdentity { FileIdentity(device: 0, inode: inode, size: size, modified: modified, changed: 0) }
}

extension JournalRecord {
    var revision: UInt64? {
        switch self {
        case .commit(let commit): commit.revision
        case .list(let list): list.revision
        case .placed: nil
        }
    }
}
