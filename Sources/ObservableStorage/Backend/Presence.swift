package import PropertyListCoding

/// A storage that removes the entries of a process that has ended, as a service with leases does.
package protocol PresenceBackend: StorageBackend {
    /// Stores an entry until the presence ends; see ``ObservableStore/presence(_:_:timeToLive:)``.
    ///
    /// - Parameters:
    ///   - name: the name of the entry. What is stored under it is replaced.
    ///   - value: the value, as ``StorageBackend/storable(_:for:)`` has returned it.
    ///   - timeToLive: how long the entry may outlive the process.
    /// - Returns: the presence, after the entry is stored, and after the watch has come to it.
    nonisolated(nonsending) func presence(
        _ name: String, _ value: PropertyListValue, timeToLive: Duration
    ) async throws -> Presence
}

/// An entry that is stored while this object is retained and the process runs.
///
/// It is removed by ``end()``, soon after the last reference is released, and after its time to live if the process or its machine has
/// stopped before either. If another edit has set the entry meanwhile, it is not removed; if one has removed it, it is not stored again
/// while the process keeps its connection. Closing the store does not end its presences.
public final class Presence: Sendable {
    private let ending: Lock<(@Sendable () async throws -> Void)?>

    /// Creates the presence of an entry that is stored.
    ///
    /// - Parameter onEnd: removes the entry, unless another edit has set it meanwhile. Called once.
    package init(onEnd: @escaping @Sendable () async throws -> Void) {
        ending = Lock(onEnd)
    }

    deinit {
        // If this fails, the entry ends with its time to live.
        if let end = ending.take({ $0.take() }) { Task { try? await end() } }
    }

    /// Removes the entry, and returns when it is removed. Further calls have no effect.
    ///
    /// - Throws: ``StorageError`` if the storage cannot be reached; the entry is then removed after its time to live.
    public func end() async throws {
        try await ending.take { $0.take() }?()
    }
}
