public import ObservableStorage

extension ObservableStore {
    /// Runs a closure on the store's queue, so that it cannot write meanwhile.
    public func isolated<Result: Sendable>(
        _ body: @Sendable (isolated ObservableStore) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }

    /// Flushes without letting anything else run on the store's queue; returns the error.
    public func flushFailure() async -> StorageError? {
        do throws(StorageError) {
            try await flush()
            return nil
        } catch {
            return error
        }
    }

    /// Waits until the store's queue is empty.
    public func settle() async {
        preconditionIsolated()
    }
}
