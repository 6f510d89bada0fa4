/// The action and options of the command line.
struct Options: Equatable {
    enum Action: Equatable {
        case help
        case list
        /// The rows of the table.
        case rows
        /// The curves, and a file for their picture.
        case curves(picture: String?)
        /// Draws the tables of a page, without measuring.
        case table(page: String, picture: String)
        /// The tables of what watching etcd costs.
        case etcd
        /// Waits for changes in etcd, as one of the processes counted by those tables.
        case watchEtcd(EtcdWatcher)
        /// Waits for changes of a file, as one of the processes counted by a curve.
        case watch(file: String)
    }

    enum Output: Equatable {
        case text
        case json
        case markdown
    }

    var action = Action.rows
    var output = Output.text
    /// The selected rows or curves: complete names or prefixes; empty for all.
    var names: [String] = []
    /// The folder for files; nil for the system's temporary folder.
    var folder: String?

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        var page: String?
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": action = .help
            case "--list": action = .list
            case "--json": output = .json
            case "--markdown": output = .markdown
            case "--curves": if case .curves = action {} else { action = .curves(picture: nil) }
            case "--svg": action = .curves(picture: try Self.value(of: argument, &rest))
            case "--table": page = try Self.value(of: argument, &rest)
            case "--watch": action = .watch(file: try Self.value(of: argument, &rest))
            case "--etcd": action = .etcd
            case "--watch-etcd": action = .watchEtcd(try EtcdWatcher(Self.value(of: argument, &rest)))
            case "--in": folder = try Self.value(of: argument, &rest)
            case _ where argument.hasPrefix("-"): throw UsageError("unknown option: \(argument)")
            default: names.append(argument)
            }
        }
        if let page {
            guard case .curves(let picture?) = action else { throw UsageError("--table needs --svg") }
            action = .table(page: page, picture: picture)
        }
        if case .curves = action, output == .json { throw UsageError("there is no JSON of curves") }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst(), !value.isEmpty else { throw UsageError("\(option) needs a value") }
        return value
    }
}

extension Options {
    static let usage = """
        usage: benchmarks [--json | --markdown] [--in FOLDER] [NAME ...]
               benchmarks --curves [--markdown] [--svg FILE] [--in FOLDER] [NAME ...]
               benchmarks --etcd [NAME ...]
               benchmarks --table PAGE --svg FILE
               benchmarks --list

        Compares the library's work with the same work done without it, and tells whether the goals are met.

          --json       one object a line, for the rows that have a goal or are named
          --markdown   the tables as the documentation has them
          --curves     how the cost grows with keys, subscribers, processes and sizes
          --svg FILE   the same, and draws it
          --table PAGE  draws the tables of a page made with --markdown beside the alternatives, and measures nothing
          --etcd       what watching etcd costs by watchers, keys, prefixes and changes, as tables; needs Linux
          --in FOLDER  where files are made: on the file system that is to be measured
          --list       the names; NAME is one of them, or how some of them begin

        Exit status: 0 every goal is met, 1 some are not, 2 wrong usage.
        """
}
