import Foundation

/// Other processes, each with stores, that answer every element with a byte.
struct WatchingProcesses {
    private let processes: [Process]
    private let input = Pipe()

    /// The identifiers of the processes.
    var processIdentifiers: [Int32] { processes.map(\.processIdentifier) }

    /// Starts the given number of them; each arrives when it has its first element.
    init(_ count: Int, watching file: URL, _ arrivals: Countdown) throws {
        try self.init(count, ["--watch", file.path], arrivals)
    }

    /// Starts the given number of processes of this program, which tell of their elements.
    init(_ count: Int, _ arguments: [String], _ arrivals: Countdown) throws {
        let output = Pipe()
        guard let program = Bundle.main.executableURL else { throw Failure("where this program stands is unknown") }
        let input = input
        // Handles, because a process closes a pipe passed to it, and these are shared by all of them.
        processes = try (0..<count).map { _ in
            let process = Process()
            process.executableURL = program
            process.arguments = arguments
            process.standardInput = input.fileHandleForReading
            process.standardOutput = output.fileHandleForWriting
            try process.run()
            return process
        }
        try output.fileHandleForWriting.close()
        // A thread, because reading blocks.
        Thread.detachNewThread {
            while true {
                let answers = output.fileHandleForReading.availableData
                if answers.isEmpty { return }
                for _ in answers { arrivals.arrive() }
            }
        }
    }

    /// Ends them by closing their standard input.
    func end() throws {
        try input.fileHandleForWriting.close()
        try input.fileHandleForReading.close()
        for process in processes { process.waitUntilExit() }
    }
}
