extension Command {
    static let help = Command("help", operands: "[COMMAND]", summary: "Explain a command, or list them all.") { arguments, output in
        guard let name = arguments.operands.first else { return try output.write(line: overview) }
        guard let command = Prefs.command(named: name) else { throw CommandError.usage("unknown command: \(name)") }
        try output.write(line: command.explanation)
    }

    /// The meaning of each exit status, from 0 on.
    static let exitStatuses = [
        "success", "no such key, or a negative result of diff, find or lint", "invalid command line",
        "a file cannot be read, written or locked, or does not allow the edit, or the cluster of --etcd cannot be reached",
        "the file has no history for log, or not since the revision of watch --since",
    ]

    /// The sections of the help that apply to all commands.
    static let sections = [
        (
            "Files",
            """
            FILE is a path when it has a / or ends in .plist or .json; anything else names a domain, as ObservableStore(suiteName:) does. With \
            --state, it names a domain of state, as ObservableStore(suiteName:kind:) does: in $XDG_STATE_HOME, by default ~/.local/state.
            """
        ),
        (
            "etcd",
            """
            \(Prefs.commands.filter { $0.takesEtcd }.map { $0.name }.joined(separator: ", ")) take --etcd ENDPOINTS/PREFIX in place of FILE, for \
            the keys PREFIX/NAME of an etcd cluster. ENDPOINTS are host:port of its members, separated by commas; the prefix is all that \
            follows the first slash. --etcd-user NAME logs in with the password in the environment variable ETCD_PASSWORD. --etcd-cacert \
            FILE (the trusted authority) encrypts connections, and --etcd-cert FILE with --etcd-key FILE is the certificate of the client.
            """
        ),
        (
            "Keys",
            """
            KEY is the name of an entry, or a path into its value: server.hosts.0 is the first element of the array hosts in the dictionary \
            server. An entry whose name has these dots takes precedence; .server.hosts, with a leading dot, is always inside server. \
            Writing creates missing dictionaries. --literal takes KEY as one name.
            """
        ),
        ("Options", "Allowed anywhere before --, which ends them. --help explains a command, and prefs --version prints the version."),
        ("Exit status", "\(exitStatuses.enumerated().map { "\($0) \($1)" }.joined(separator: "; "))."),
    ]

    var explanation: String {
        let etcd = etcdOperand.map { "--etcd ENDPOINTS/PREFIX can replace \(placeholder(at: $0)): see etcd in prefs help." }
        return ["usage: \(usage)", summary, details, etcd ?? ""].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    static var overview: String {
        """
        usage: prefs COMMAND ...

        \(Prefs.commands.map { "  \($0.usage)\n      \($0.summary)" }.joined(separator: "\n"))

        \(sections.map { "\($0): \($1)" }.joined(separator: "\n\n"))
        """
    }

    static let manual = Command("manual", summary: "Print the manual page prefs(1): prefs manual | man -l -") { _, output in
        try output.write(line: page)
    }

    /// The page in the macros of man(7).
    private static var page: String {
        let commands = Prefs.commands.map { command in
            ".SS \(escaped(command.name))\n.B \(escaped(command.usage))\n.PP\n\(escaped(command.summary))" + command.manualDetails
        }
        let sections = Self.sections.map { ".SH \($0.uppercased())\n\(escaped($1))" }
        return """
            .TH PREFS 1 "" "prefs \(Prefs.version)"
            .SH NAME
            prefs \\- read, modify and watch property lists
            .SH SYNOPSIS
            .B prefs
            .I command
            \\&...
            .SH COMMANDS
            \(commands.joined(separator: "\n"))
            \(sections.joined(separator: "\n"))
            """
    }

    private var manualDetails: String { details.isEmpty ? "" : "\n.PP\n.nf\n\(Self.escaped(details))\n.fi" }

    /// Escapes backslashes, dashes and characters that are not ASCII, and lines that begin like a macro.
    private static func escaped(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\e"
            case "-": "\\-"
            case _ where !scalar.isASCII: "\\[u\(String(scalar.value, radix: 16, uppercase: true))]"
            default: String(scalar)
            }
        }
        let lines = characters.joined().split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&\($0)" : String($0) }.joined(separator: "\n")
    }
}
