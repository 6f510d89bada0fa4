import Foundation

/// Other processes, each with a store on the same file, that answer every element with a byte.
struct WatchingProcesses {
    private let processes: [Process]
    private let input = Pipe()

    /// Starts so many, which is an arrival for each once it has its first element.
    init(_ count: Int, watching file: URL, _ arrivals: Countdown) throws {
        let output = Pipe()
        guard let program = Bundle.main.executableURL else { throw Failure("where this program stands is unknown") }
        let input = input
        // Handles, since a process closes a pipe that it is given, and these are for all of them.
        processes = try (0..<count).map { _ in
            let process = Process()
            process.executableURL = program
            process.arguments = ["--watch", file.path]
            process.standardInput = input.fileHandleForReading
            process.standardOutput = output.fileHandleForWriting
            try process.run()
            return process
        }
        try output.fileHandleForWriting.close()
        // A thread, since reading waits.
        Thread.detachNewThread {
            while true {
                let answers = output.fileHandleForReading.availableData
                if answers.isEmpty { return }
                for _ in answers { arrivals.arrive() }
            }
        }
    }

    /// Ends them by ending their standard input.
    func end() throws {
        try input.fileHandleForWriting.close()
        try input.fileHandleForReading.close()
        for process in processes { process.waitUntilExit() }
    }
}
