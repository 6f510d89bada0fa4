public import ObservableStorage

/// Values by name that a service keeps equal on all devices of a user, such as iCloud's key-value store.
///
/// ``CloudMirror`` calls all methods on a queue of its own, except ``observe(_:)``.
public protocol CloudRemote: Sendable {
    /// All values that this device has at present, including those of other programs; nil for one that is there but cannot be read.
    ///
    /// ``CloudMirror`` does not replace a value that cannot be read.
    func values() -> [String: PropertyListValue?]

    /// Sets a value; the service sends it to the other devices later. None is ever removed: a removed key keeps an entry without a value.
    func set(_ value: PropertyListValue, forKey name: String)

    /// Writes values that were set to disk, and asks the service for values that it has received.
    ///
    /// Called after values were set, before the mirror stores that they were.
    func synchronize()

    /// Calls a closure, on any thread, after each change that this device has not made, until the token is cancelled or released.
    func observe(_ onChange: @escaping @Sendable (CloudChange) -> Void) -> ObservationToken
}

/// The reason why values of a ``CloudRemote`` changed.
public enum CloudChange: Sendable, Hashable, CaseIterable {
    /// Values of other devices have arrived.
    case serverChange
    /// The first download has begun, not ended; values that were set meanwhile may have been discarded.
    case initialSync
    /// A value that was set exceeds the quota and was discarded.
    case quotaViolation
    /// The user has signed in to another account, whose values replace those of the previous one.
    case accountChange
}
