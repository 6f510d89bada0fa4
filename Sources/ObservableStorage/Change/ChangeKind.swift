/// What happened to an entry.
public enum ChangeKind: Sendable, Hashable {
    /// A value is stored now.
    case set
    /// Nothing is stored any more.
    case removed
    /// What is stored now is not a value of the key's type; it stays as it is.
    case undecodable(StorageError)
}
