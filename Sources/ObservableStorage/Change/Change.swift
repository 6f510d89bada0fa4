/// One change of one entry.
public struct Change<Value: Sendable>: Sendable {
    /// The entry's name.
    public let key: String
    /// The value before, as reading gave it: the default where nothing was stored, the last good value where it could not be decoded.
    public let oldValue: Value
    /// The value now, as reading gives it: the default where nothing is stored, the last good value where it cannot be decoded.
    public let newValue: Value
    /// What happened.
    public let kind: ChangeKind
    /// Who did it.
    public let origin: ChangeOrigin
    /// The store's revision with this change in it; rises with every change, and is one for all changes of a transaction.
    public let revision: UInt64

    /// Describes a change.
    public init(key: String, oldValue: Value, newValue: Value, kind: ChangeKind, origin: ChangeOrigin, revision: UInt64) {
        self.key = key
        self.oldValue = oldValue
        self.newValue = newValue
        self.kind = kind
        self.origin = origin
        self.revision = revision
    }
}

extension Change: Equatable where Value: Equatable {}
extension Change: Hashable where Value: Hashable {}

/// What happened to an entry.
public enum ChangeKind: Sendable, Hashable {
    /// A value is stored now.
    case set
    /// Nothing is stored any more.
    case removed
    /// What is stored now is not a value of the key's type; it stays as it is.
    case undecodable(StorageError)
}
