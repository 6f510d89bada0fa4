import Foundation

/// The reason why a benchmark cannot continue: the measured code did not do its work.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Checks that required work was done.
    static func unless(_ isDone: Bool, _ description: @autoclosure () -> String) throws {
        if !isDone { throw Failure(description()) }
    }
}

/// An invalid command line.
struct UsageError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

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

/// Messages on standard error.
enum Diagnostics {
    static func print(_ text: String) {
        FileHandle.standardError.write(Data("benchmarks: \(text)\n".utf8))
    }
}
