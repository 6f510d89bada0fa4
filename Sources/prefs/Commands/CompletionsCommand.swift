import EtcdStorage
import ObservableStorage

extension Command {
    static let completions = Command(
        "completions", operands: "bash|zsh|fish", operandCount: 0...Int.max, options: ["--candidates"],
        usage: "prefs completions bash|zsh|fish",
        summary: "Print a script for the shell that completes commands, options, domains and keys.",
        details: """
              bash   source <(prefs completions bash)         in ~/.bashrc
              zsh    source <(prefs completions zsh)          in ~/.zshrc, after compinit
              fish   prefs completions fish | source          in ~/.config/fish/config.fish

            prefs completions --candidates -- WORD ... prints the completions of the last of the words after prefs, one per line.
            """
    ) { arguments, output in
        if arguments.has("candidates") {
            return try output.write(Array(candidates(for: arguments.operands).map { $0 + "\n" }.joined().utf8))
        }
        guard let shell = arguments.operands.first else { throw CommandError.usage("an operand is missing") }
        guard arguments.operands.count == 1 else { throw CommandError.usage("one operand too many: \(arguments.operands[1])") }
        guard let script = scripts[shell] else { throw CommandError.usage("unknown shell: \(shell)") }
        try output.write(line: script)
    }

    private static let scripts = [
        "bash": #"""
        # Bash splits words at the characters of COMP_WORDBREAKS too, and replaces only what follows the last of them, $2.
        _prefs() {
            local line=${COMP_LINE:0:COMP_POINT} words=() word='' within='' quote='' before='' open='' index character
            for ((index = 0; index <= ${#line}; index++)); do
                ((index == ${#line} - ${#2})) && before=$word open=$quote
                character=${line:index:1}
                case $quote$character in
                    [[:space:]]) [[ $within ]] && words+=("$word"); word='' within=''; continue ;;
                    [\'\"]) quote=$character ;;
                    \'\' | \"\") quote='' ;;
                    \\ | \"\\) ((++index)); word+=${line:index:1} ;;
                    *) word+=$character ;;
                esac
                within=1
            done
            local candidate candidates paths=''
            candidates=$(prefs completions --candidates -- "${words[@]:1}" "$word" 2>/dev/null)
            # Otherwise a path is completed by Bash, as if it began after the last break.
            [[ $candidates || ! $before || $word == *[\$\`]* ]] || { paths=1; candidates=$(compgen -f -- "$word"); }
            COMPREPLY=()
            while IFS= read -r candidate; do
                [[ $paths && -d ${candidate/#\~/$HOME} ]] && { candidate+=/; compopt -o nospace 2>/dev/null; }
                candidate=${candidate#"$before"}
                case $open in
                    \") for character in \\ \" \$ \`; do candidate=${candidate//"$character"/"\\$character"}; done ;;
                    \') candidate=${candidate//\'/\'\\\'\'} ;;
                    *) [[ $candidate ]] && printf -v candidate %q "$candidate" ;;
                esac
                COMPREPLY+=("$candidate")
            done < <(printf %s "${candidates:+$candidates$'\n'}")
        }
        complete -o default -F _prefs prefs
        """#,
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

extension Command {
    /// The completions of the last word of a command line.
    static func candidates(for words: [String]) -> [String] {
        let prefix = words.last ?? ""
        return allCandidates(Array(words.dropLast()), prefix).filter { $0.utf8.starts(with: prefix.utf8) && !$0.contains("\n") }
    }

    private static func allCandidates(_ words: [String], _ prefix: String) -> [String] {
        guard let name = words.first else { return Prefs.commands.map { $0.name } + ["--help", "--version"] }
        guard let command = Prefs.command(named: name) else { return [] }
        let arguments = words.dropFirst()
        let endsOptions = arguments.contains("--")
        if !endsOptions, let option = command.allOptions.first(where: { $0.hasPrefix((arguments.last ?? "") + " ") }) {
            return choices(option.split(separator: " ").last ?? "")
        }
        if prefix.hasPrefix("-"), !endsOptions {
            let options = command.allOptions.map { $0.split(separator: " ") } + [["--help"]]
            if prefix.contains("=") { return options.flatMap { option in choices(option.last ?? "").map { "\(option[0])=\($0)" } } }
            return options.map { String($0[0]) }
        }
        do {
            var parsed = try Arguments(parsing: Array(arguments), options: command.allOptions, isIncomplete: true)
            if let etcdOperand = command.etcdOperand { parsed.insertEtcdOperand(at: etcdOperand) }
            let kind = command.placeholder(at: parsed.operands.count)
            try command.locateState(&parsed)
            return try candidates(kind, parsed)
        } catch {
            // A storage that cannot be read has no keys to complete.
            return []
        }
    }

    private static func choices(_ placeholder: some StringProtocol) -> [String] {
        placeholder.contains("|") ? placeholder.split(separator: "|").map { String($0) } : []
    }

    private static func candidates(_ kind: String, _ arguments: Arguments) throws -> [String] {
        switch kind {
        case "FILE": try PropertyListFile.domains(arguments.suiteKind)
        case "KEY": try keys(of: EntryStorage(arguments, requestTimeout: .seconds(1)))
        case "COMMAND": Prefs.commands.map { $0.name }
        default: choices(kind)
        }
    }

    /// The names of a storage's entries, and the paths of the entries of dictionaries.
    private static func keys(of storage: EntryStorage) throws -> [String] {
        var paths: [String] = []
        try storage.existingEntries().forEachNested { path, _, _ in paths.append(path) }
        return paths
    }
}
