import PropertyListCoding

/// What can go wrong between a typed value and the disk.
///
/// Its `description` names the file or the key, the position, the reason, and the remedy.
public enum StorageError: Error, Sendable, Hashable {
    /// The file or its folder cannot be opened or read.
    case unreadable(file: String, reason: String, edits: EditOutcome? = nil)
    /// The file was read, but is no property list with a dictionary at its root; it was not touched.
    case malformed(file: String, offset: Int?, reason: String, edits: EditOutcome? = nil)
    /// The file cannot be written.
    case unwritable(file: String, reason: String, edits: EditOutcome? = nil)
    /// Another process kept the lock for too long.
    case locked(file: String, waited: Duration, edits: EditOutcome? = nil)
    /// The system cannot report changes of the file, so it is polled instead.
    case unwatchable(file: String, reason: String)
    /// The file is a mount point, as Kubernetes creates one for a `subPath`: a file that replaces it outside is never visible here.
    case mountedFile(file: String)
    /// What is stored for the key is not a value of the key's type; it was not touched.
    case undecodable(key: String, expected: String, found: String)
    /// The value cannot be stored; what was stored before still is.
    case unencodable(key: String, reason: String)
    /// The store was closed before.
    case closed
    /// Two keys of a group have the same name, and so are one entry.
    case repeatedName(key: String, group: String)
    /// `update` was called from inside an `update` of the same store.
    case nestedUpdate

    /// What became of the edits of the call that failed.
    public enum EditOutcome: Sendable, Hashable {
        /// They are still in memory, and writing them is tried again.
        case kept
        /// None of them was made: the call changed nothing.
        case rolledBack
        /// They are in the file, but may not outlive a power failure.
        case notDurable
        /// They are lost, because the store or the process ended before they could be written.
        case lost(keys: [String])
    }
}

extension StorageError: CustomStringConvertible {
    /// The error as a message that a person can act on: file or key, position, reason and remedy.
    public var description: String {
        switch self {
        case .unreadable(let file, let reason, let edits):
            "\(file): cannot be read: \(reason)\(Self.text(edits))"
        case .malformed(let file, let offset, let reason, let edits):
            "\(file): not a readable property list\(offset.map { " (byte \($0))" } ?? ""): \(reason); the file was left as it is\(Self.text(edits))"
        case .unwritable(let file, let reason, let edits):
            "\(file): cannot be written: \(reason)\(Self.text(edits))"
        case .locked(let file, let waited, let edits):
            "\(file): locked by another process for more than \(waited)\(Self.text(edits))"
        case .unwatchable(let file, let reason):
            "\(file): cannot be watched: \(reason); it is polled instead"
        case .mountedFile(let file):
            """
            \(file): is mounted as a single file (a bind mount, such as a Kubernetes subPath): when it is replaced outside of the mount, that \
            is never seen here, only what is written into it; mount the folder that holds it instead
            """
        case .undecodable(let key, let expected, let found):
            "key \"\(key)\": expected \(expected), found \(found); what is stored was left as it is"
        case .unencodable(let key, let reason):
            "key \"\(key)\": cannot be stored: \(reason); what was stored before still is"
        case .closed:
            "the store is closed; open another one to go on"
        case .repeatedName(let key, let group):
            "key \"\(key)\": two keys of \(group) have this name; give one of them another name or its group a prefix"
        case .nestedUpdate:
            "update was called from inside update; use the transaction that was passed to it"
        }
    }

    private static func text(_ edits: EditOutcome?) -> String {
        switch edits {
        case nil: ""
        case .kept: "; the edits are kept in memory and tried again"
        case .rolledBack: "; nothing was changed"
        case .notDurable: "; the file has its new content, which may not outlive a power failure"
        case .lost(let keys): "; the last edits are lost, of \(keys.map { "\"\($0)\"" }.joined(separator: ", "))"
        }
    }
}

extension StorageError {
    /// The same error, which also says what became of the edits of the call that failed.
    func with(_ edits: EditOutcome) -> StorageError {
        switch self {
        // The content of the file was not rolled back.
        case .unwritable(_, _, .notDurable) where edits == .rolledBack: self
        case .unreadable(let file, let reason, _): .unreadable(file: file, reason: reason, edits: edits)
        case .malformed(let file, let offset, let reason, _): .malformed(file: file, offset: offset, reason: reason, edits: edits)
        case .unwritable(let file, let reason, _): .unwritable(file: file, reason: reason, edits: edits)
        case .locked(let file, let waited, _): .locked(file: file, waited: waited, edits: edits)
        default: self
        }
    }
}

extension StorageError {
    /// Says that a backend could not be read; an error that says so itself is kept.
    static func reading(_ name: String, _ error: any Error) -> StorageError {
        error as? StorageError ?? .unreadable(file: name, reason: String(describing: error))
    }

    /// Says that a backend could not be written; an error that says so itself is kept.
    static func writing(_ name: String, _ error: any Error) -> StorageError {
        error as? StorageError ?? .unwritable(file: name, reason: String(describing: error))
    }
}

extension StorageError {
    /// The error that decoding threw, as an error about a key: the path inside the value is added to the key's name.
    static func undecodable(
        key: String, as type: Any.Type, stored: PropertyListValue, because error: any Error
    ) -> StorageError {
        let failure = CodingFailure(error, decoding: stored, as: type)
        return .undecodable(key: "\(key)\(failure.path)", expected: failure.expected ?? "\(type)", found: failure.reason)
    }

    /// The error that encoding threw, as an error about a key: the path inside the value is added to the key's name.
    static func unencodable(key: String, because error: any Error) -> StorageError {
        let failure = CodingFailure(encoding: error)
        return .unencodable(key: "\(key)\(failure.path)", reason: failure.reason)
    }
}
