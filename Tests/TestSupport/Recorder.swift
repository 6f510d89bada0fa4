import Foundation
import ObservableStorage

/// Collects elements from any thread, and lets a test wait for them.
public final class Recorder<Element: Sendable>: Sendable {
    private struct Waiter {
        let id: UUID
        let isEnough: @Sendable ([Element]) -> Bool
        let continuation: CheckedContinuation<[Element], any Error>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Waiter] = []
        var isEnded = false
    }

    /// No more elements come: not those that a test waits for.
    public struct Ended: Error {
        /// All that came.
        public let elements: [Element]
    }

    private let state = Lock(State())

    /// Starts empty.
    public init() {}

    /// The elements so far.
    public var elements: [Element] {
        state.withLock { $0.elements }
    }

    /// Adds an element.
    public func record(_ element: Element) {
        let served = state.withLock { state in
            state.elements.append(element)
            let elements = state.elements
            let served = state.waiters.filter { $0.isEnough(elements) }.map(\.continuation)
            state.waiters.removeAll { $0.isEnough(elements) }
            return (served, elements)
        }
        for continuation in served.0 { continuation.resume(returning: served.1) }
    }

    /// Ends the waiting for elements that do not come any more.
    public func end() {
        let (waiters, elements) = state.withLock { state in
            defer { state.waiters = [] }
            state.isEnded = true
            return (state.waiters, state.elements)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: Ended(elements: elements)) }
    }

    /// The elements, once they satisfy a condition.
    ///
    /// - Throws: ``Ended`` if no more come; when the task is cancelled, as it is at a test's time limit.
    public func elements(when isEnough: @escaping @Sendable ([Element]) -> Bool) async throws -> [Element] {
        let id = UUID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready = state.withLock { state -> Result<[Element], any Error>? in
                    if isEnough(state.elements) { return .success(state.elements) }
                    if state.isEnded { return .failure(Ended(elements: state.elements)) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters.append(Waiter(id: id, isEnough: isEnough, continuation: continuation))
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            let given = state.withLock { state in
                let given = state.waiters.filter { $0.id == id }
                state.waiters.removeAll { $0.id == id }
                return given
            }
            for waiter in given { waiter.continuation.resume(throwing: CancellationError()) }
        }
    }

    /// The elements, once there are at least the given number.
    public func elements(count: Int) async throws -> [Element] {
        try await elements { $0.count >= count }
    }
}
