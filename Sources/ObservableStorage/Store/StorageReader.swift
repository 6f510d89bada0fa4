/// Reads a storage without a store, on a queue of its own: a storage may block, which no thread of the cooperative pool may.
actor StorageReader {
    private let executor: DispatchQueueExecutor
    private let backend: any StorageBackend

    init(_ backend: any StorageBackend) {
        self.backend = backend
        executor = DispatchQueueExecutor(label: "StorageReader \(backend.name)")
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The entries of the storage, after the layers that are read with it.
    func load(after layers: LayerFiles? = nil) async throws(StorageError) -> StorageEntries {
        try layers?.load()
        do {
            return try await backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
    }
}
