import Dispatch
import ObservableStorage

/// An in-memory backend that counts calls, fails on demand, and sends events for a test.
final class HookedBackend: BlockingStorageBackend {
    private struct State {
        var loads = 0
        var isBad = false
        var reportsInsideEdits = false
        var failure: (@Sendable () -> Void)?
        var report: (@Sendable (StorageEvent) -> Void)?
    }

    static let bad = StorageError.malformed(file: "hooked", offset: nil, reason: "bad")

    let name = "hooked"
    // Commits that are remembered would keep values alive, whose release some tests wait for.
    let memory = InMemoryBackend(rememberedCommits: 0)
    private let state = Lock(State())

    var loads: Int {
        state.withLock { $0.loads }
    }

    func turnBad(_ isBad: Bool) {
        state.withLock { $0.isBad = isBad }
    }

    func reportInsideEdits() {
        state.withLock { $0.reportsInsideEdits = true }
    }

    /// Makes the next edit call a closure and fail.
    func failEdit(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.failure = body }
    }

    func report(_ event: StorageEvent) {
        state.withLock { $0.report }?(event)
    }

    func load() throws -> StorageEntries {
        let isBad = state.withLock { state in
            state.loads += 1
            return state.isBad
        }
        if isBad { throw Self.bad }
        return memory.load()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let (isBad, failure, reports) = state.withLock { ($0.isBad, $0.failure.take(), $0.reportsInsideEdits) }
        failure?()
        if isBad || failure != nil { throw Self.bad }
        let entries = try memory.edit(body)
        if reports { report(.changed) }
        return entries
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        state.withLock { $0.report = report }
        return ObservationToken {}
    }
}
