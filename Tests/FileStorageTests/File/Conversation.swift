import Foundation
import TestSupport
import Testing

/// Another program that runs its next step on request, and answers with a line.
final class Conversation: Sendable {
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()

    init(_ program: String, _ arguments: [String]) throws {
        process = Subprocess.make(program, arguments)
        process.standardInput = input
        process.standardOutput = output
        try Subprocess.start(process)
    }

    deinit {
        if process.isRunning {
            process.terminate()
        }
    }

    /// Lets it continue, and waits for its answer.
    func ask() throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Waits until it exits.
    func end() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    /// Kills it, as a crash would.
    func kill() throws {
        #expect(Foundation.kill(process.processIdentifier, SIGKILL) == 0)
        process.waitUntilExit()
    }
}
