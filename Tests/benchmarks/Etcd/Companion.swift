import Foundation
import TestSupport

/// A program that runs beside the benchmark, and ends with it in whatever way that ends.
final class Companion: Sendable {
    /// The identifier of its process.
    var processIdentifier: Int32 { process.processIdentifier }

    private let process: Process
    private let input = Pipe()

    /// Starts a program of the search path or of this package, with nothing on its standard input.
    ///
    /// - Parameters:
    ///   - folder: what is removed if the benchmark is killed.
    ///   - receive: is called on a thread with each part of its standard output.
    init(_ program: String, _ arguments: [String], folder: String = "", _ receive: (@Sendable (Data) -> Void)? = nil) throws {
        let own = Subprocess.executable(program).path
        let path = FileManager.default.isExecutableFile(atPath: own) ? own : program
        process = Subprocess.make("/bin/sh", Subprocess.companion(path, arguments, removing: folder))
        process.standardInput = input
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = receive == nil ? FileHandle.nullDevice : output
        try process.run()
        guard let receive else { return }
        Thread.detachNewThread {
            while case let bytes = output.fileHandleForReading.availableData, !bytes.isEmpty { receive(bytes) }
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        // The shell that watches lives until it reads this: there is no broken pipe. It has inherited what tells Foundation of the end.
        _ = try? input.fileHandleForWriting.write(contentsOf: Data("ended\n".utf8))
        process.waitUntilExit()
    }

    /// Whether it runs.
    var isRunning: Bool { process.isRunning }
}
