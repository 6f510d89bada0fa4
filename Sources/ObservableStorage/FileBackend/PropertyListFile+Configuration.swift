public import PropertyListCoding

extension PropertyListFile {
    /// How a property list is read, written and protected.
    ///
    /// ```swift
    /// var configuration = PropertyListFile.Configuration()
    /// configuration.format = .xml
    /// configuration.onDeletion = .keepLastValues
    /// let store = try ObservableStore(at: url, configuration: configuration)
    /// ```
    public struct Configuration: Sendable, Hashable {
        /// Whether the file is written: ``StorageAccess/readWrite`` by default.
        ///
        /// One that is only read is neither locked, renamed if it is malformed, nor restored.
        public var access: StorageAccess = .readWrite
        /// What protects edits that are not in the file yet: a log of the edits of each store by default.
        public var journal: JournalMode = .edits
        /// How long an edit waits for other processes that lock the file without writing it: 10 seconds by default.
        public var lockTimeout: Duration = .seconds(10)
        /// The share of the time that writing edits behind may take, from 0.001 to 1: 0.05 by default.
        ///
        /// After a write of a list of more than 256 KB that took 50 ms, the next one begins 950 ms later, and at the latest after 30
        /// seconds; until then other processes do not see the edits, and a power failure loses them. Edits that are in no log, and those
        /// that a call waits for, are written at once.
        public var writingShare = 0.05
        /// What to do if the file is not a readable property list when it is first read: refuse it by default.
        public var onCorruption: CorruptionPolicy = .refuse
        /// What to do if the file is deleted after it was read: remove every entry by default.
        public var onDeletion: DeletionPolicy = .removeAll
        /// Whether the file must exist when it is opened: otherwise a missing one, by default, is an empty store.
        public var mustExist = false
        /// The format of a new file: nil, by default, for JSON if its name ends in `.json`, and else binary. An existing file keeps its own,
        /// whatever its name.
        public var format: PropertyListFormat?
        /// What to do if the format of the file cannot represent a value: refuse the value by default.
        public var formatPolicy: FormatPolicy = .keep
        /// Whether a file that cannot be replaced is written in place: never by default.
        public var inPlaceWriting: InPlaceWriting = .never
        /// The data protection of a new file: nil, by default, for that of the application. An existing file keeps its own.
        public var protection: FileProtection?

        /// Creates a configuration with the defaults.
        public init() {}

        /// The configuration with another access and another journal, unless they are nil.
        func with(access: StorageAccess?, journal: JournalMode? = nil) -> Configuration {
            var configuration = self
            if let access { configuration.access = access }
            if let journal { configuration.journal = journal }
            return configuration
        }

        /// The configuration as it applies: a file that is only read is not written for any other reason either.
        var effective: Configuration {
            guard access == .readOnly else { return self }
            var configuration = self
            (configuration.journal, configuration.onCorruption, configuration.inPlaceWriting) = (.off, .refuse, .never)
            return configuration
        }
    }

    /// What to do if the format of the file cannot represent a value: XML has no control characters, and no dates outside the years
    /// 1 to 9999; JSON has neither dates, data nor NaN.
    public enum FormatPolicy: Sendable, Hashable {
        /// Throw ``StorageError/unencodable(key:reason:underlying:)``, and keep the format.
        case keep
        /// Write a binary file, which can represent every value, from then on. A file that people edit as XML or JSON should keep its format.
        case binaryWhenNecessary
    }
}

/// Whether a storage is written.
public enum StorageAccess: Sendable, Hashable {
    /// It is read and written.
    case readWrite
    /// It is read and observed, for extensions of an application, and for files that this process may not write.
    ///
    /// Nothing is created, locked or written: neither the file, nor its folder, nor its lock file. Edits throw
    /// ``StorageError/readOnly(file:)``; property setters report it in the store's `failures`. Keys with earlier names or types are read
    /// without being migrated.
    case readOnly
}

/// What to do if a file that is opened is not a readable property list.
public enum CorruptionPolicy: Sendable, Hashable {
    /// Throw an error with the position and the reason, and do not change the file.
    case refuse
    /// Rename the file to `NAME.corrupt-TIME`, of which the newest three are kept, and start empty, or with the edits of a journal or a log that
    /// the file did not have yet. If those of a journal would be lost, because this user cannot open it or it belongs to another one, throw an
    /// error and do not change the file.
    case quarantine
}

/// What to do if the file of a store is deleted by another process, and not created again at once.
public enum DeletionPolicy: Sendable, Hashable {
    /// Every entry is removed, so that all keys have their defaults.
    case removeAll
    /// The last values are kept in memory, which is reported in the store's `failures`; the next write stores all of them again.
    ///
    /// A file that another process creates meanwhile takes effect as it is. Beside a journal, the values are not kept, which is reported as
    /// well, if another process has moved the file aside because it is malformed (``CorruptionPolicy/quarantine``), or has recorded its
    /// deletion without knowing them.
    case keepLastValues
}
