package import PropertyListCoding

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

    /// Receives each name that a store reads, writes or observes for the first time, which need not be stored yet: for a storage that
    /// observes its entries one by one. Nil unless the backend implements it.
    ///
    /// Called under the store's lock: it must not wait. A name may be passed more than once.
    var onUse: (@Sendable (String) -> Void)? { get }

    /// Stores an entry until the presence ends; see ``ObservableStore/presence(_:_:timeToLive:)``.
    ///
    /// - Parameters:
    ///   - name: the name of the entry. What is stored under it is replaced.
    ///   - value: the value, as ``StorageBackend/storable(_:for:)`` has returned it.
    ///   - timeToLive: how long the entry may outlive the process.
    /// - Returns: the presence, after the entry is stored, and after the watch has come to it; nil, unless the backend implements it, if the
    ///   storage does not remove the entries of a process that has ended, as a service with leases does.
    nonisolated(nonsending) func presence(
        _ name: String, _ value: PropertyListValue, timeToLive: Duration
    ) async throws -> Presence?
}

extension CommittingBackend {
    package nonisolated(nonsending) func edit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        try await edit(body)
    }

    package var allowsNestedEdits: Bool { false }
    package var onUse: (@Sendable (String) -> Void)? { nil }

    package nonisolated(nonsending) func presence(
        _ name: String, _ value: PropertyListValue, timeToLive: Duration
    ) async throws -> Presence? { nil }
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
