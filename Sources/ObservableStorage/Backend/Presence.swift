import FoundationSubset

/// An entry that is stored while this object is retained and the process runs.
///
/// It is removed by ``end()``, soon after the last reference is released, and after its time to live if the process or its machine has
/// stopped before either. If another edit has set the entry meanwhile, it is not removed; if one has removed it, it is not stored again
/// while the process keeps its connection. Closing the store does not end its presences.
public final class Presence: Sendable {
    private let ending: Lock<(@Sendable () async throws -> Void)?>
    private let process = getpid()

    /// Creates the presence of an entry that is stored.
    ///
    /// - Parameter onEnd: removes the entry, unless another edit has set it meanwhile. Called once.
    package init(onEnd: @escaping @Sendable () async throws -> Void) {
        ending = Lock(onEnd)
    }

    deinit {
        guard getpid() == process else { return }
        // If this fails, the entry ends with its time to live.
        if let end = ending.take({ $0.take() }) { Task { try? await end() } }
    }

    /// Removes the entry, and returns when it is removed. Further calls have no effect, nor has one in a forked child.
    ///
    /// - Throws: ``StorageError`` if the storage cannot be reached; the entry is then removed after its time to live.
    public nonisolated(nonsending) func end() async throws {
        guard getpid() == process else { return }
        try await ending.take { $0.take() }?()
    }
}
