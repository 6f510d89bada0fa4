public import FoundationSubset
public import PropertyListCoding

/// A state of a storage: the number of the edits that it has received in one history.
///
/// Revisions are only comparable within one history: a storage that was created again, or restored from a copy, has another one. A
/// revision can be kept, and later be used to ask what has changed since.
public struct StorageRevision: Sendable, Hashable {
    /// Identifies the storage, from its creation on.
    public let history: String
    /// Increases with every edit, by one or more.
    public let number: UInt64

    /// Creates a revision.
    public init(history: String, number: UInt64) {
        (self.history, self.number) = (history, number)
    }

    /// Whether this revision is a later one of the same history.
    public func isNewer(than other: StorageRevision) -> Bool {
        history == other.history && number > other.number
    }
}

/// The text of a revision, such as `5d41402a-17`.
extension StorageRevision: LosslessStringConvertible, Codable {
    /// The history and the number.
    public var description: String { "\(history)-\(number)" }

    /// Creates a revision from its text; returns nil for any other text.
    public init?(_ description: String) {
        guard let dash = description.lastIndex(of: "-"), dash > description.startIndex else { return nil }
        let digits = description[description.index(after: dash)...]
        guard let number = UInt64(digits), String(number) == digits else { return nil }
        self.init(history: String(description[..<dash]), number: number)
    }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// Decodes the text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let revision = StorageRevision(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" is not a revision of a storage")
        }
        self = revision
    }
}

/// The differences between two revisions of a storage.
public struct StorageChanges: Sendable, Hashable {
    /// The value of each entry that was set, nil for one that was removed, by name. It may be equal to the value before.
    public let values: [String: PropertyListValue?]
    /// The revision to which the differences apply.
    public let since: StorageRevision
    /// The revision afterwards.
    public let revision: StorageRevision

    /// Creates differences.
    public init(_ values: [String: PropertyListValue?], since: StorageRevision, revision: StorageRevision) {
        (self.values, self.since, self.revision) = (values, since, revision)
    }

    /// Whether the differences lead from a state of the storage to a newer one.
    func apply(to other: StorageRevision) -> Bool {
        revision.isNewer(than: other) && since.history == other.history && !since.isNewer(than: other)
    }
}

/// Edits that a storage has stored together.
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
    /// The time of the commit by the clock of its writer, for display: it need not increase. Nil if it is not known.
    public let time: Date?
    /// The writer, for display: a process and its number, or "another program". Nil if it is not known.
    public let writer: String?

    /// Creates a commit.
    public init(_ edits: [String: Edit], revision: StorageRevision, time: Date? = nil, writer: String? = nil) {
        (self.edits, self.revision, self.time, self.writer) = (edits, revision, time, writer)
    }
}
