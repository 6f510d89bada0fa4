import Dispatch
import FoundationSubset

/// Reads, writes and watches property lists from the command line.
@main
struct Prefs {
    /// The commands, in the order in which help lists them.
    static let commands: [Command] = [
        .read, .type, .list, .write, .delete, .rename, .increment, .edit, .watch, .log, .mirror, .export, .import, .convert, .lint, .diff,
        .find, .domains, .completions, .manual, .help,
    ]

    /// The version that `--version` and the manual print.
    static let version = "0.1.0"

    // For the standard streams, Dispatch, a file watcher, and the files of an edit.
    private static let requiredOpenFiles = 16

    static func main() {
        reserveStandardStreams()
        // Writing to a closed pipe then fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        requireOpenFiles()
        do {
            try run(arguments(), .standard)
            exit(0)
        } catch {
            fail(error)
        }
    }

    /// Reports an error, and ends the process with its status.
    static func fail(_ error: any Error) -> Never {
        let error = CommandError(error)
        error.report()
        exit(error.status)
    }

    /// Opens closed standard streams so that they can be neither read nor written: otherwise the next file would become one of them.
    private static func reserveStandardStreams() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Exits with an error if the process may not open enough files: Dispatch would crash later.
    private static func requireOpenFiles() {
        let limit = sysconf(Int32(_SC_OPEN_MAX))
        guard (0..<requiredOpenFiles).contains(limit) else { return }
        fail(CommandError.failed("only \(limit) files may be open at once (ulimit -n), and \(requiredOpenFiles) are needed"))
    }

    /// The arguments of the process.
    ///
    /// `CommandLine.arguments` replaces bytes that are not UTF-8 with U+FFFD, which would name another file or key.
    private static func arguments() throws(CommandError) -> [String] {
        // Swift reads them from /proc on Linux; there is always the name of the program.
        if CommandLine.argc == 0 { throw .failed("the arguments cannot be read: /proc is not mounted") }
        var arguments: [String] = []
        for number in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[number] else { break }
            guard let argument = String(validatingCString: bytes) else {
                throw .usage("argument \(number) is not UTF-8: \(String(cString: bytes))")
            }
            arguments.append(argument)
        }
        return arguments
    }

    static func command(named name: String) -> Command? {
        commands.first { $0.name == name }
    }

    /// Runs a command that waits for events: a task that ends the process when it returns or throws.
    static func run(_ operation: sending @escaping () async throws -> Void) -> Never {
        Task {
            do {
                try await operation()
                exit(0)
            } catch {
                fail(error)
            }
        }
        dispatchMain()
    }

    private static func run(_ arguments: [String], _ output: Output) throws {
        switch arguments.first {
        case nil: throw CommandError.usage("a command is missing")
        case "--help", "-h": try output.write(line: Command.overview)
        case "--version": try output.write(line: "prefs \(version)")
        case let name?:
            guard let command = command(named: name) else { throw CommandError.usage("unknown command: \(name)") }
            try command.run(Array(arguments.dropFirst()), output)
        }
    }
}
