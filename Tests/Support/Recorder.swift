import ObservableStorage

/// Collects what arrives from any thread, and lets a test wait for it.
public final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [(isEnough: @Sendable ([Element]) -> Bool, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Guarded(State())

    /// Starts empty.
    public init() {}

    /// What has arrived so far.
    public var elements: [Element] {
        state.withLock { $0.elements }
    }

    /// Takes an element.
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

    /// What has arrived once it is as a condition asks.
    public func elements(when isEnough: @escaping @Sendable ([Element]) -> Bool) async -> [Element] {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                if isEnough(state.elements) { return state.elements as [Element]? }
                state.waiters.append((isEnough, continuation))
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// What has arrived once it is so many.
    public func elements(count: Int) async -> [Element] {
        await elements { $0.count >= count }
    }
}
