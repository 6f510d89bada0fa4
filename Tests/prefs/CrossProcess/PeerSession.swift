import Foundation
import TestSupport
import Testing

/// A process that does with a store what it is told, in circumstances that a shell makes.
struct PeerSession {
    private let path: String
    private let circumstances: String
    private let launcher: [String]

    /// - Parameters:
    ///   - path: the property list.
    ///   - circumstances: commands of the shell that becomes the process; the list's folder is in `$FOLDER`.
    ///   - launcher: a program that starts the shell, with its arguments.
    init(_ path: String, after circumstances: String = ":", by launcher: [String] = []) {
        self.path = path
        self.circumstances = circumstances
        self.launcher = launcher
    }

    /// Runs it to its end.
    func run(_ lines: [String]) async throws -> Subprocess {
        let shell = ["/bin/sh", "-c", circumstances + " && exec \"$0\" session \"$1\"", Subprocess.executable("Peer").path, path]
        let command = launcher + shell
        return try await Subprocess.finished(
            command[0], Array(command.dropFirst()), input: Data(lines.map { $0 + "\n" }.joined().utf8),
            environment: ["FOLDER": URL(fileURLWithPath: path).deletingLastPathComponent().path])
    }

    /// What it answers to the lines.
    func answers(to lines: [String]) async throws -> [String] {
        let session = try await run(lines)
        #expect(session.status == 0, "\(session.errors)")
        return session.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}

/// Whether a program can start another one as it is asked to; some machines forbid that to everyone.
func canStart(_ command: String...) -> Bool {
    do {
        return try Subprocess.run(command[0], Array(command.dropFirst())).status == 0
    } catch {
        return false
    }
}
