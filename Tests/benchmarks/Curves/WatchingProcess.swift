import Foundation
import ObservableStorage
import TestSupport

/// A process of this program that answers each element of its stores with a byte.
enum WatchingProcess {
    /// Starts a number of them, and returns when each has answered its first element; they end when they are released.
    static func start(_ arguments: [String], count: Int = 1, _ arrivals: Countdown) async throws -> [RunningProgram] {
        var processes: [RunningProgram] = []
        _ = try await arrivals.time(count) {
            for _ in 0..<count {
                processes.append(try .benchmarks(arguments) { for _ in $0 { arrivals.arrive() } })
            }
        }
        return processes
    }

    /// Watches a file until the process is ended.
    static func watch(_ file: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: file))
        for await value in store.values(of: .launchCount) {
            consume(value)
            try answer()
        }
    }

    /// Tells of an element.
    static func answer() throws {
        try FileHandle.standardOutput.write(contentsOf: Data([UInt8(ascii: ".")]))
    }
}

extension RunningProgram {
    /// Starts this program with other arguments; it ends when this process does.
    static func benchmarks(_ arguments: [String], _ receive: (@Sendable (Data) -> Void)? = nil) throws -> RunningProgram {
        guard let program = Bundle.main.executablePath else { throw Failure("where this program stands is unknown") }
        return try RunningProgram(companion: program, arguments, receive)
    }
}
