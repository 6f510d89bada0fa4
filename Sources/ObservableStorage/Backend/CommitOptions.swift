/// How a backend stores the edits of a store's commit.
package struct CommitOptions: Sendable {
    /// Whether the call may return before the edits are durable: a journal is synchronized later.
    var isBehind = false
    /// Whether a watch of the same backend reports the edits, as it does those of other callers than the store that watches it.
    var isReported = true
    /// Called by a file under its lock, with the list and its identity, after the edits are in it.
    var whenStored: (@Sendable (_ list: ResolvedPath, _ identity: FileIdentity?) -> Void)?
    /// Identifies a commit whose edits the store repeats if its outcome is unknown; nil if it does not repeat them.
    package var identity: UInt64?
    /// The identities of earlier commits whose outcome is unknown.
    package var unknown: Set<UInt64> = []
    /// Called before the edit runs, with whether each of these earlier commits has taken effect.
    package var whenResolved: (@Sendable (_ outcomes: [UInt64: Bool]) -> Void)?

    package init() {}
}

/// A storage of this library, of which a store asks more than of others.
package protocol CommittingBackend: StorageBackend {
    /// Runs an edit as ``StorageBackend/edit(_:)`` does, which this is unless the backend implements it.
    ///
    /// A storage that can find out the outcome of earlier commits does so before it stores anything.
    nonisolated(nonsending) func edit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries

    /// Whether an edit inside another one, on the same thread, is made separately: false unless the backend implements it.
    ///
    /// The closure of an edit may end the process. If true, the process's last edits are then stored on that thread; otherwise on another
    /// one, and they are lost if that has to wait for the first edit.
    var allowsNestedEdits: Bool { get }

    /// Receives the names that a store reads, writes or observes for the first time, which need not be stored yet: for a storage that
    /// observes its entries one by one. Nil unless the backend implements it.
    ///
    /// Called on the store's queue, some time after the first use; a name may be passed more than once.
    var onUse: (@Sendable ([String]) -> Void)? { get }
}

extension CommittingBackend {
    package nonisolated(nonsending) func edit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        try await edit(body)
    }

    package var allowsNestedEdits: Bool { false }
    package var onUse: (@Sendable ([String]) -> Void)? { nil }
}

extension StorageBackend {
    /// Runs an edit for a commit, with its options if the storage observes them.
    nonisolated(nonsending) func commit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        guard let backend = self as? any CommittingBackend else { return try await edit(body) }
        return try await backend.edit(options, body)
    }
}
