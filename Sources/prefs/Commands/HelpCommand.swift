/// `prefs help`: explains the tool, or one command.
struct HelpCommand: Command {
    static let name = "help"
    static let operands = "[COMMAND]"
    static let operandCount = 0...1
    static let summary = "Explain a command, or list them all."

    private let command: (any Command.Type)?

    init(about command: (any Command.Type)?) {
        self.command = command
    }

    init(_ arguments: Arguments) throws(ArgumentParser.Mistake) {
        guard let name = arguments.operands.first else {
            command = nil
            return
        }
        guard let command = CommandList.named(name) else { throw ArgumentParser.Mistake(reason: "unknown command: \(name)") }
        self.command = command
    }

    func run(_ output: Output) throws {
        try output.write(line: command.map(Self.text) ?? Self.overview)
    }

    static func text(about command: any Command.Type) -> String {
        ["usage: \(command.usage)", command.summary, command.details].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    static var overview: String {
        """
        usage: prefs COMMAND ...

        \(CommandList.all.map { "  \($0.usage)\n      \($0.summary)" }.joined(separator: "\n"))

        FILE is a path when it has a / or ends in .plist; anything else names a domain, as ObservableStore(suiteName:) does.
        Options may stand anywhere before --, which ends them.

        Exit status: 0; 1 no such key; 2 the command line makes no sense; 3 the file cannot be read, written or locked.
        """
    }
}
