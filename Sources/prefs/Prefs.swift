import Foundation

/// Reads, writes and watches property lists from the command line.
@main
struct Prefs {
    static func main() async {
        // Writing to a closed pipe is then an error that can be told from others.
        signal(SIGPIPE, SIG_IGN)
        exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) async -> Int32 {
        do {
            try await command(arguments).run(.standard)
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

    /// The command that the arguments ask for.
    static func command(_ arguments: [String]) throws(Failure) -> any Command {
        guard let name = arguments.first else { throw .usage("a command is missing", nil) }
        if ["--help", "-h"].contains(name) { return HelpCommand(about: nil) }
        guard let type = CommandList.named(name) else { throw .usage("unknown command: \(name)", nil) }
        return try type.parse(Array(arguments.dropFirst()))
    }
}
