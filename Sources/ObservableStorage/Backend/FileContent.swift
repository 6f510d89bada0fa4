import Foundation
import PropertyListCoding

/// What a property-list file held at one moment.
struct FileContent: Sendable {
    /// Tells whether the file is still the one that was seen; nothing for a missing file.
    let identity: FileIdentity?
    let bytes: Data
    let entries: StorageEntries
    let format: PropertyListFormat
    /// Whether the file was so young that a further write may have left its time stamps as they were.
    let isYoung: Bool

    /// A file that does not exist; the first write makes it binary.
    static let missing = FileContent(identity: nil, bytes: Data(), entries: StorageEntries(), format: .binary, lookedAt: .distantPast)

    /// - Parameter time: when the file had not been looked at yet: it may have been written while it was.
    init(identity: FileIdentity?, bytes: Data, entries: StorageEntries, format: PropertyListFormat, lookedAt time: Date) {
        self.identity = identity
        self.bytes = bytes
        self.entries = entries
        self.format = format
        isYoung = identity?.mayHideWrites(after: time) ?? false
    }

    /// Reads a property list with a dictionary at its root.
    init(bytes: Data, identity: FileIdentity, file: String, lookedAt time: Date) throws(StorageError) {
        let root: PropertyListValue
        let format: PropertyListFormat
        do {
            (root, format) = try PropertyListValue.decode(bytes)
        } catch {
            throw .malformed(file: file, offset: error.offset, reason: error.reason)
        }
        guard case .dictionary(let entries) = root else {
            throw .malformed(file: file, offset: nil, reason: "its root is of type \(root.typeName), not a dictionary")
        }
        self.init(identity: identity, bytes: bytes, entries: StorageEntries(entries), format: format, lookedAt: time)
    }
}
