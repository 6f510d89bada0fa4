/// One change of one entry.
public struct Change<Value: Sendable>: Sendable {
    /// The name of the key, or of the entry for an observer of all entries; see ``StorageKey/name``.
    public let key: String
    /// The previous value of the key: the default if none was stored, the last valid value if it could not be decoded.
    public let oldValue: Value
    /// The new value of the key: the default if none is stored, the last valid value if it cannot be decoded.
    public let newValue: Value
    /// The kind of the change.
    public let kind: ChangeKind
    /// The origin of the change.
    public let origin: ChangeOrigin
    /// The store's revision of this change, which increases with every change and is the same for all changes of a transaction. A change
    /// made before the observation began has the revision at which it began.
    public internal(set) var revision: UInt64
    /// The revision of the storage that has the new value; nil for an edit that is not written yet, and if the storage has no revisions.
    public let storageRevision: StorageRevision?
    /// Whether the value in effect is the same as before, because the new one cannot be decoded.
    let keepsValue: Bool
    /// Whether the values are a secret, so that they are not printed; see ``StorageKey/secret()``.
    package let isSecret: Bool

    package init(
        key: String, oldValue: Value, newValue: Value, kind: ChangeKind, origin: ChangeOrigin, revision: UInt64,
        storageRevision: StorageRevision? = nil, keepsValue: Bool = false, isSecret: Bool = false
    ) {
        self.key = key
        self.oldValue = oldValue
        self.newValue = newValue
        self.kind = kind
        self.origin = origin
        self.revision = revision
        self.storageRevision = storageRevision
        self.keepsValue = keepsValue
        self.isSecret = isSecret
    }
}

extension Change: CustomReflectable {
    /// The properties as they are printed: `<redacted>` instead of the values of a secret.
    public var customMirror: Mirror {
        let (oldValue, newValue): (Any, Any) =
            isSecret ? (SecretNames.placeholder, SecretNames.placeholder) : (self.oldValue, self.newValue)
        return Mirror(
            self,
            children: [
                "key": key, "oldValue": oldValue, "newValue": newValue, "kind": kind, "origin": origin, "revision": revision,
                "storageRevision": storageRevision as Any,
            ], displayStyle: .struct)
    }
}

extension Change: Equatable where Value: Equatable {}
extension Change: Hashable where Value: Hashable {}

/// The kind of a change.
public enum ChangeKind: Sendable, Hashable {
    /// A value was stored.
    case set
    /// The value was removed.
    case removed
    /// The stored value is not of the key's type; it is kept.
    case undecodable(StorageError)
}
