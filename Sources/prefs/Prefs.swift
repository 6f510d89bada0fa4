import Dispatch
import Foundation

/// Reads, writes and watches property lists from the command line.
@main
struct Prefs {
    // Three streams, what Dispatch and a watch need, and the files of an edit.
    private static let leastOpenFiles = 16

    static func main() {
        // Writing to a closed pipe is then an error that can be told from others.
        signal(SIGPIPE, SIG_IGN)
        requireDescriptors()
        Task { exit(await run()) }
        dispatchMain()
    }

    /// Ends the process if it may not open enough files: Dispatch would end it by a signal.
    private static func requireDescriptors() {
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        guard (0..<leastOpenFiles).contains(limit) else { return }
        let failure = Failure.impossible("only \(limit) files may be open at once (ulimit -n), and \(leastOpenFiles) are needed")
        Diagnostics.report(failure)
        exit(failure.status)
    }

    private static func run() async -> Int32 {
        do {
            try await command(arguments()).run(.standard)
            return 0
        } catch let failure as Failure {
            Diagnostics.report(failure)
            return failure.status
        } catch {
            let failure = Failure.impossible(ErrorText.text(for: error))
            Diagnostics.report(failure)
            return failure.status
        }
    }

    /// What stands on the command line; `CommandLine.arguments` would put U+FFFD in the place of what is not UTF-8, and so name another file
    /// or key.
    private static func arguments() throws(Failure) -> [String] {
        var arguments: [String] = []
        for number in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[number] else { break }
            guard let argument = String(validatingCString: bytes) else {
                throw .usage("argument \(number) is not UTF-8: \(String(cString: bytes))", nil)
            }
            arguments.append(argument)
        }
        return arguments
    }

    /// The command that the arguments ask for.
    static func command(_ arguments: [String]) throws(Failure) -> any Command {
        guard let name = arguments.first else { throw .usage("a command is missing", nil) }
        if ["--help", "-h"].contains(name) { return HelpCommand(about: nil) }
        guard let type = CommandList.named(name) else { throw .usage("unknown command: \(name)", nil) }
        return try type.parse(Array(arguments.dropFirst()))
    }
}
