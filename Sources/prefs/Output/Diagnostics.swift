import Foundation

/// Standard error: a line for each thing that goes wrong.
enum Diagnostics {
    static func report(_ failure: Failure) {
        switch failure {
        case .closedOutput: return
        case .noSuchKey(let key): write("no such key: \(JSONText.quoted(key))")
        case .impossible(let reason): write(reason)
        case .usage(let reason, let command):
            write(reason)
            write(command.map { "usage: \($0.usage)" } ?? "try: prefs help", prefix: "")
        }
    }

    /// Writes a line that begins with the tool's name.
    static func write(_ text: String, prefix: String = "prefs: ") {
        do {
            try Output(descriptor: STDERR_FILENO, style: .plain).write(line: prefix + ErrorText.line(text))
        } catch {
            // There is nowhere left to say so.
        }
    }
}
