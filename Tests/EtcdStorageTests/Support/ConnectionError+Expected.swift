@testable import EtcdStorage

/// The error of a closure that has to throw one.
func connectionError(of body: () async throws(ConnectionError) -> some Sendable) async throws -> ConnectionError {
    do throws(ConnectionError) {
        _ = try await body()
    } catch {
        return error
    }
    throw MissingError()
}

private struct MissingError: Error {}
