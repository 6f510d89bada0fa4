import Foundation

/// Ends the program when something that it waits for never comes.
enum Watchdog {
    private static let patience: TimeInterval = 120

    /// Runs a piece of work that comes to its end in time.
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
