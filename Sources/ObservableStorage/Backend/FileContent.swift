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

    // Clocks of file systems tick every few milliseconds at the slowest.
    private static let youngest: TimeInterval = 0.05

    /// A file that does not exist; the first write makes it binary.
    static let missing = FileContent(identity: nil, bytes: Data(), entries: StorageEntries(), format: .binary)

    init(identity: FileIdentity?, bytes: Data, entries: StorageEntries, format: PropertyListFormat) {
        self.identity = identity
        self.bytes = bytes
        self.entries = entries
        self.format = format
        isYoung = identity.map { $0.age < Self.youngest } ?? false
    }

    /// Reads a property list with a dictionary at its root.
    init(bytes: Data, identity: FileIdentity, file: String) throws(StorageError) {
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
        self.init(identity: identity, bytes: bytes, entries: StorageEntries(entries), format: format)
    }
}

extension FileIdentity {
    /// How long ago the file was modified, in seconds; a time in the future counts as just now.
    var age: TimeInterval {
        max(0, Date().timeIntervalSince1970 - Double(modified) / 1e9)
    }
}
