extension ObservableStore {
    /// Stores an entry that everybody sees while this process runs, and that is removed when it ends.
    ///
    /// ```swift
    /// let presence = try await store.presence("workers/7", hostName)
    /// ```
    ///
    /// It is an entry like others: it is read, observed and told by every store on the storage, by its name, or by the beginning of its
    /// name. This store, too, is told it as by another process. A process that has waited longer than the time to live, because it was
    /// suspended or could not reach the storage, stores its entry again when it goes on; if another process has stored one under the name
    /// meanwhile, that one is left, and the error is reported in ``failures``.
    ///
    /// - Parameters:
    ///   - name: the name of the entry. What is stored under it is replaced, such as the entry of a process of which this one is the
    ///     successor.
    ///   - value: what the entry tells about the process.
    ///   - timeToLive: how long the entry may outlive the process, or its connection: 10 seconds by default. A storage may round it up.
    /// - Returns: the presence, after the entry is stored. The entry is removed when it ends or is released.
    /// - Throws: ``StorageError/unwritable(file:reason:edits:)`` if the storage does not remove entries by itself, as a file, or
    ///   cannot be written; ``StorageError/outcomeUnknown(storage:reason:edits:)`` if the entry may be stored, until its time to live has passed;
    ///   ``StorageError/mandatory(key:)``;
    ///   ``StorageError/unencodable(key:reason:underlying:)``; ``StorageError/tooLarge(key:reason:)``; ``StorageError/closed``.
    public nonisolated func presence(
        _ name: String, _ value: some Storable, timeToLive: Duration = .seconds(10)
    ) async throws -> Presence {
        let key = StorageKey(name, default: value)
        let refusal = cache.update { state in
            state.refusal ?? state.layers.mandatory(key.entryName).map { _ in StorageError.mandatory(key: name) }
        }
        if let refusal { throw refusal }
        guard let backend = backend as? any PresenceBackend else {
            throw StorageError.unwritable(file: backend.name, reason: "the storage does not remove entries when a process ends")
        }
        guard let stored = try key.stored(value, as: { stored throws(StorageError) in try backend.accepted(stored, for: name) }) else {
            throw StorageError.unencodable(key: name, reason: "nil is no value of a presence")
        }
        do {
            return try await backend.presence(name, stored, timeToLive: timeToLive)
        } catch {
            throw StorageError.writing(backend.name, error).with(.rolledBack)
        }
    }
}
