import Dispatch

/// Stands in for storage that could not be opened: there is nothing in it, and nothing can be written.
struct UnavailableBackend: StorageBackend {
    let name: String
    let reason: StorageError

    func load() -> StorageEntries {
        StorageEntries()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        throw reason
    }

    func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        ObservationToken {}
    }
}
