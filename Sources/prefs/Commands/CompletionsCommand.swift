import EtcdStorage
import ObservableStorage
import PropertyListCoding

/// `prefs completions`: prints a script that completes command lines, or the candidates that the scripts request.
struct CompletionsCommand: Command {
    static let name = "completions"
    static let operands = "bash|zsh|fish"
    static let operandCount = 0...Int.max
    static let options = ["--candidates"]
    static let usage = "prefs completions bash|zsh|fish"
    static let summary = "Print a script for the shell that completes commands, options, domains and keys."
    static let details = """
          bash   source <(prefs completions bash)         in ~/.bashrc
          zsh    source <(prefs completions zsh)          in ~/.zshrc, after compinit
          fish   prefs completions fish | source          in ~/.config/fish/config.fish

        prefs completions --candidates -- WORD ... prints the completions of the last of the words after prefs, one per line.
        """

    private let text: String

    init(_ arguments: Arguments) throws(CommandError) {
        if arguments.has("candidates") {
            text = Self.candidates(for: arguments.operands).map { $0 + "\n" }.joined()
            return
        }
        guard let shell = arguments.operands.first else { throw .usage("an operand is missing") }
        guard arguments.operands.count == 1 else { throw .usage("one operand too many: \(arguments.operands[1])") }
        guard let script = Self.scripts[shell] else { throw .usage("unknown shell: \(shell)") }
        text = script + "\n"
    }

    func run(_ output: Output) throws {
        try output.write(Array(text.utf8))
    }

    private static let scripts = [
        "bash": """
        _prefs() {
            local candidate quoted
            COMPREPLY=()
            while IFS= read -r candidate; do
                printf -v quoted %q "$candidate"
                COMPREPLY+=("$quoted")
            done < <(prefs completions --candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        }
        complete -o default -F _prefs prefs
        """,
        "zsh": """
        #compdef prefs
        _prefs() {
            local -a candidates
            candidates=("${(@f)$(prefs completions --candidates -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
            candidates=(${candidates:#})
            (( $#candidates )) && compadd -a candidates
            (( CURRENT > 2 )) && _files
        }
        compdef _prefs prefs
        """,
        "fish": """
        function __prefs_candidates
            set -l words (commandline -opc) (commandline -ct)
            prefs completions --candidates -- $words[2..-1] 2>/dev/null
        end
        complete -c prefs -n 'test (count (commandline -opc)) -lt 2' -f
        complete -c prefs -a '(__prefs_candidates)'
        """,
    ]
}

// MARK: - Candidates

extension CompletionsCommand {
    /// The completions of the last word of a command line.
    static func candidates(for words: [String]) -> [String] {
        let prefix = words.last ?? ""
        return allCandidates(Array(words.dropLast()), isOption: prefix.hasPrefix("-")).filter { $0.hasPrefix(prefix) && !$0.contains("\n") }
    }

    private static func allCandidates(_ words: [String], isOption: Bool) -> [String] {
        guard let name = words.first else { return Prefs.commands.map { $0.name } + ["--help", "--version"] }
        guard let command = Prefs.command(named: name) else { return [] }
        let arguments = words.dropFirst()
        let endsOptions = arguments.contains("--")
        if !endsOptions, let option = command.allOptions.first(where: { $0.hasPrefix((arguments.last ?? "") + " ") }) {
            return choices(option.split(separator: " ").last ?? "")
        }
        if isOption, !endsOptions { return command.allOptions.compactMap { $0.split(separator: " ").first.map(String.init) } + ["--help"] }
        let parsed = parsed(arguments, of: command)
        return candidates(command.placeholder(at: parsed.operands.count), parsed)
    }

    /// The arguments that can be recognized, with the value of `--etcd` as FILE.
    private static func parsed(_ arguments: ArraySlice<String>, of command: any Command.Type) -> Arguments {
        var parsed = Arguments()
        var rest = arguments
        while let argument = rest.popFirst() {
            if argument == "--" {
                parsed.operands += rest
                break
            }
            if command.allOptions.contains(where: { $0.hasPrefix(argument + " ") }) {
                parsed.options[String(argument.dropFirst(2))] = rest.popFirst()
            } else if !argument.hasPrefix("-") {
                parsed.operands.append(argument)
            }
        }
        parsed.insertEtcdOperand(at: command.etcdOperand)
        return parsed
    }

    private static func choices(_ placeholder: some StringProtocol) -> [String] {
        placeholder.contains("|") ? placeholder.split(separator: "|").map { String($0) } : []
    }

    private static func candidates(_ kind: String, _ arguments: Arguments) -> [String] {
        do {
            switch kind {
            case "FILE": return try PropertyListFile.domains()
            case "KEY": return try keys(of: EntryStorage(arguments, requestTimeout: .seconds(1)))
            case "COMMAND": return Prefs.commands.map { $0.name }
            default: return choices(kind)
            }
        } catch {
            // A storage that cannot be read has no keys to complete.
            return []
        }
    }

    /// The names of a storage's entries, and the paths of the entries of dictionaries.
    private static func keys(of storage: EntryStorage) throws -> [String] {
        var paths: [String] = []
        try storage.existingEntries().forEachNested { path, _, _ in paths.append(path) }
        return paths
    }
}
