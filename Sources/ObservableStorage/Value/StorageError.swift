import PropertyListCoding

/// An error of a store, a key or a storage.
///
/// Its `description` names the file or the key, the position, the reason, and the remedy. A key has the text of ``StorageKey/name``.
public enum StorageError: Error, Sendable, Hashable {
    /// The file or its folder cannot be opened or read.
    case unreadable(file: String, reason: String, edits: EditOutcome? = nil)
    /// The file is not a property list with a dictionary at its root; it was not changed.
    ///
    /// The position is an offset in bytes, and in XML and JSON also a line and a column, both counted from 1.
    case malformed(
        file: String, offset: Int?, line: Int? = nil, column: Int? = nil, reason: String, edits: EditOutcome? = nil)
    /// The file cannot be written.
    case unwritable(file: String, reason: String, edits: EditOutcome? = nil)
    /// The file cannot be written, because writing creates files beside it, and the sandbox grants this process only the file itself, for
    /// example after the user has picked it.
    case folderNotGranted(file: String, edits: EditOutcome? = nil)
    /// Another process held the lock for too long.
    case locked(file: String, waited: Duration, edits: EditOutcome? = nil)
    /// The file was neither locked nor written, because the store is suspended, or the system is about to suspend the process.
    case suspended(file: String, edits: EditOutcome? = nil)
    /// The last edits of a process that was killed were not stored, because another writer has changed the same keys since.
    case conflict(file: String, keys: [String])
    /// The store was opened for reading only.
    case readOnly(file: String)
    /// The system cannot report changes of the file, so it is polled instead.
    case unwatchable(file: String, reason: String)
    /// The file is a mount point, such as a `subPath` of Kubernetes: a file that replaces it outside is not visible here.
    case mountedFile(file: String)
    /// The stored value is not one of the key's type; it was not changed. The underlying error is that of a codec, a `Decodable` type or a
    /// validation.
    case undecodable(key: String, expected: String, found: String, underlying: UnderlyingError? = nil)
    /// The value cannot be stored, and the stored one was not changed. The underlying error is that of a codec, an `Encodable` type or a
    /// validation.
    case unencodable(key: String, reason: String, underlying: UnderlyingError? = nil)
    /// The value is larger than the storage accepts; without a key, the edits of one step or transaction are too many, or too large
    /// together. Nothing was changed.
    case tooLarge(key: String?, reason: String)
    /// The storage did not respond, so it is unknown whether the edits were stored.
    ///
    /// A store repeats its own edits. Check the effect of a transaction before repeating it, unless it may take effect twice.
    case outcomeUnknown(storage: String, reason: String, edits: EditOutcome? = nil)
    /// Some changes in the storage are unknown: it has not reported them, or its content was replaced. The entries are read again, and the
    /// differences are reported.
    case historyLost(storage: String, reason: String)
    /// The value is prescribed by a mandatory layer of the store, so it cannot be set.
    case mandatory(key: String)
    /// The scene was discarded, so that no value can be set in it: nothing would ever remove it. Nothing was changed.
    case discardedScene(key: String)
    /// The store is closed.
    case closed
    /// Two keys of a group have the same name, so that they are one entry.
    case repeatedName(key: String, group: String)
    /// The values of a group are not valid together, by its own rule.
    case invalidGroup(group: String, reason: String)
    /// No key of the group has this name, which is stored or was asked for; `nearest` is the name of a key of which it may be a misspelling.
    case unknownName(key: String, group: String, nearest: String? = nil)
    /// A value is stored under an earlier name of a key, possibly by an earlier version of the program, although its present name has one.
    case superseded(key: String, earlierName: String)
    /// An argument or a variable of the environment is not a value of its key, or belongs to two keys.
    case invalidOverride(name: String, key: String, reason: String)
    /// Several errors, which a check has found.
    case several([StorageError])
    /// `update` was called from inside an `update` of the same store.
    case nestedUpdate
    /// The closure of `edit` or `modify`, or the rule of a group, sets in the store, each time it runs, what it has read, so that it would
    /// run for ever. The edits were not made.
    case nestedEdit(key: String)
    /// The value is not mirrored between the user's devices; without a key, no value is mirrored at present.
    case unmirrored(key: String?, reason: String)
    /// A part of a configuration, such as an endpoint, a certificate, or the name of a key, cannot be used.
    case invalidConfiguration(item: String, reason: String, remedy: String)

    /// The outcome of the edits of the call that failed.
    public enum EditOutcome: Sendable, Hashable {
        /// They are still in memory, and writing them is tried again.
        case kept
        /// None of them was made: the call changed nothing.
        case rolledBack
        /// They are in the file, but may not outlive a power failure.
        case notDurable
        /// They may be in the file, or be restored there when it is opened next.
        case unknown
        /// They are in a log beside the file, and are stored when the file is next opened or written.
        case logged
        /// They are lost, because the store or the process ended before they could be written.
        case lost(keys: [String])

        fileprivate var isWithoutEffect: Bool {
            switch self {
            case .rolledBack, .lost: true
            case .kept, .notDurable, .unknown, .logged: false
            }
        }
    }
}

/// An error of user code, as part of a ``StorageError``.
///
/// Two are equal if their errors are of the same type and have the same description.
public struct UnderlyingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error that was thrown.
    public let error: any Error

    /// The error as text.
    public var description: String { "\(error)" }

    package init(_ error: any Error) {
        self.error = error
    }

    /// Whether both errors are of the same type and have the same description.
    public static func == (left: UnderlyingError, right: UnderlyingError) -> Bool {
        type(of: left.error) == type(of: right.error) && left.description == right.description
    }

    /// Hashes the description.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(description)
    }
}

extension StorageError {
    /// The same error with the outcome of the edits of the call that failed.
    func with(_ edits: EditOutcome) -> StorageError {
        switch self {
        // The content of the file was neither rolled back nor lost.
        case .unwritable(_, _, .notDurable) where edits.isWithoutEffect, .unwritable(_, _, .unknown) where edits.isWithoutEffect: self
        case .unreadable(let file, let reason, _): .unreadable(file: file, reason: reason, edits: edits)
        case .malformed(let file, let offset, let line, let column, let reason, _):
            .malformed(file: file, offset: offset, line: line, column: column, reason: reason, edits: edits)
        case .unwritable(let file, let reason, _): .unwritable(file: file, reason: reason, edits: edits)
        case .folderNotGranted(let file, _): .folderNotGranted(file: file, edits: edits)
        case .locked(let file, let waited, _): .locked(file: file, waited: waited, edits: edits)
        case .suspended(let file, _): .suspended(file: file, edits: edits)
        // The edits of a transaction may have been stored.
        case .outcomeUnknown where edits == .rolledBack: self
        case .outcomeUnknown(let storage, let reason, _): .outcomeUnknown(storage: storage, reason: reason, edits: edits)
        default: self
        }
    }

    /// The error of a backend that could not be read; a ``StorageError`` is returned unchanged.
    static func reading(_ name: String, _ error: any Error) -> StorageError {
        error as? StorageError ?? .unreadable(file: name, reason: String(describing: error))
    }

    /// The error of a backend that could not be written; a ``StorageError`` is returned unchanged.
    static func writing(_ name: String, _ error: any Error) -> StorageError {
        error as? StorageError ?? .unwritable(file: name, reason: String(describing: error))
    }
}
