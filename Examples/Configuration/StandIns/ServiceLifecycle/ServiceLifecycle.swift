// What StoreConfiguration uses of swift-service-lifecycle 2, declared as its documentation has it; written for this test, not taken from there.

public protocol Service: Sendable {
    func run() async throws
}

/// Runs a closure, and cancels it when the service group shuts down: here, when the task is cancelled.
public func cancelWhenGracefulShutdown<Result: Sendable>(
    _ operation: @Sendable @escaping () async throws -> Result
) async rethrows -> Result {
    try await operation()
}
