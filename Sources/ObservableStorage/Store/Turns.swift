/// The operations of a store's storage, one at a time, in the order of waiting.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Whether an operation runs.
    var isTaken: Bool { state.withLock { $0.isTaken } }

    /// Whether an operation waits for its turn.
    var isAwaited: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Runs an operation after those that began earlier.
    nonisolated(nonsending) func run<Result>(
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
        defer { pass() }
        return try await operation()
    }

    private func pass() {
        let next = state.withLock { state in
            state.isTaken = !state.waiting.isEmpty
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }
}
