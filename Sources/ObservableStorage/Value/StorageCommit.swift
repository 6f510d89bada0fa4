public import FoundationSubset
public import PropertyListCoding

/// Edits that a storage has stored together, as it remembers them.
public struct StorageCommit: Sendable, Hashable {
    /// The edit of one entry.
    public struct Edit: Sendable, Hashable {
        /// The value before; nil if there was none.
        public let oldValue: PropertyListValue?
        /// The value that was set; nil for a removal.
        public let newValue: PropertyListValue?
        /// The paths of the edited values inside the dictionary, which a journal keeps; none if the edit concerns all of the entry.
        let paths: Set<[String]>

        /// Creates an edit.
        public init(from oldValue: PropertyListValue?, to newValue: PropertyListValue?) {
            self.init(from: oldValue, to: newValue, at: [])
        }

        init(from oldValue: PropertyListValue?, to newValue: PropertyListValue?, at paths: Set<[String]>) {
            (self.oldValue, self.newValue, self.paths) = (oldValue, newValue, paths)
        }
    }

    /// The edits by the name of the entry.
    public let edits: [String: Edit]
    /// The revision of the storage with these edits.
    public let revision: StorageRevision
    /// The time of the commit by the clock of its writer, for people: it decides nothing, and need not increase. Nil if it is not known.
    public let time: Date?
    /// Who has made the edits, for people: a process and its number, or "another program". Nil if it is not known.
    public let writer: String?

    /// Creates a commit.
    public init(_ edits: [String: Edit], revision: StorageRevision, time: Date? = nil, writer: String? = nil) {
        (self.edits, self.revision, self.time, self.writer) = (edits, revision, time, writer)
    }
}
