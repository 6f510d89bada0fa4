import Foundation

/// Exits the program if an awaited event does not occur.
enum Watchdog {
    private static let patience: TimeInterval = 120

    /// Runs an operation that must finish in time.
    static func during<Result>(_ work: String, _ body: () async throws -> Result) async rethrows -> Result {
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now() + patience)
        timer.setEventHandler {
            Diagnostics.print("\(work) has not come to its end in \(Int(patience)) s")
            exit(1)
        }
        timer.activate()
        defer { timer.cancel() }
        return try await body()
    }
}
