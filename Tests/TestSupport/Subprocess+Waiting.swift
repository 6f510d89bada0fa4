#if os(macOS) || os(Linux)
    public import Foundation

    extension Subprocess {
        /// Runs a program like ``run(_:_:input:environment:)``, without blocking a thread of the pool that tests run on.
        public static func finished(
            _ program: String, _ arguments: [String] = [], input: Data = Data(), environment: [String: String] = [:]
        ) async throws -> Subprocess {
            try await onThread { try run(program, arguments, input: input, environment: environment) }
        }
    }
#endif
