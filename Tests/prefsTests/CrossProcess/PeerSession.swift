import Foundation
import TestSupport
import Testing

/// A process that runs commands on a store, in an environment that a shell prepares.
struct PeerSession {
    private let path: String
    private let preparation: String
    private let launcher: [String]

    /// - Parameters:
    ///   - path: the property list.
    ///   - preparation: commands of the shell that becomes the process; the list's folder is in `$FOLDER`.
    ///   - launcher: a program that starts the shell, with its arguments.
    init(_ path: String, after preparation: String = ":", by launcher: [String] = []) {
        self.path = path
        self.preparation = preparation
        self.launcher = launcher
    }

    /// Runs the process to its end.
    func run(_ lines: [String]) async throws -> Subprocess {
        let shell = ["/bin/sh", "-c", preparation + " && exec \"$0\" session \"$1\"", Subprocess.executable("Peer").path, path]
        let command = launcher + shell
        return try await Subprocess.finished(
            command[0], Array(command.dropFirst()), input: Data(lines.map { $0 + "\n" }.joined().utf8),
            environment: ["FOLDER": URL(fileURLWithPath: path).deletingLastPathComponent().path])
    }

    /// The answers of the process to the lines.
    func answers(to lines: [String]) async throws -> [String] {
        let session = try await run(lines)
        #expect(session.status == 0, "\(session.errors)")
        return session.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}

/// Returns whether a program can start another one as requested; some machines forbid it to every user.
func canStart(_ command: String...) -> Bool {
    do {
        return try Subprocess.run(command[0], Array(command.dropFirst())).status == 0
    } catch {
        return false
    }
}
