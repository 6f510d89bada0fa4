import Dispatch
import ObservableStorage

/// An in-memory backend that counts calls, fails on demand, and sends events for a test.
final class HookedBackend: StorageBackend {
    private struct State {
        var loads = 0
        var isBad = false
        var reportsInsideEdits = false
        var report: (@Sendable (StorageEvent) -> Void)?
    }

    static let bad = StorageError.malformed(file: "hooked", offset: nil, reason: "bad")

    let name = "hooked"
    let memory = InMemoryBackend()
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
        let (isBad, reports) = state.withLock { ($0.isBad, $0.reportsInsideEdits) }
        if isBad { throw Self.bad }
        let entries = try memory.edit(body)
        if reports { report(.changed) }
        return entries
    }

    func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        state.withLock { $0.report = report }
        return ObservationToken {}
    }
}
