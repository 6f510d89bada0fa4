import Dispatch

extension MainActor {
    private static let key = DispatchSpecificKey<Bool>()
    private static let isMarked: Void = DispatchQueue.main.setSpecific(key: key, value: true)

    /// Whether the caller runs on the main queue, which is the executor of the main actor.
    ///
    /// The thread does not determine it: after `dispatchMain()`, the main queue runs on any thread on Linux.
    static var isCurrent: Bool {
        _ = isMarked
        return DispatchQueue.getSpecific(key: key) == true
    }

    /// The result of a closure that runs on the main actor, if the caller does; nil otherwise.
    static func ifCurrent<Result: Sendable>(_ body: @MainActor () -> Result?) -> Result? {
        isCurrent ? assumeIsolated(body) : nil
    }
}
