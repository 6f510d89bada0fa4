/// The action and options of the command line.
struct Options: Equatable {
    enum Action: Equatable {
        case help
        case list
        /// The rows of the table.
        case rows
        /// Measures a row, as the process that is started for it.
        case measure(row: String)
        /// The curves.
        case curves
        /// Draws the tables of a page, without measuring.
        case draw(page: String)
        /// The tables of what watching etcd costs.
        case etcd
        /// Waits for changes in etcd, as one of the processes counted by those tables.
        case watchEtcd(EtcdWatcher)
        /// Waits for changes of a file, as one of the processes counted by a curve.
        case watch(file: String)
    }

    var action = Action.rows
    var isMarkdown = false
    /// The selected rows or curves: complete names or prefixes; empty for all.
    var names: [String] = []
    /// The folder for files; nil for the system's temporary folder.
    var folder: String?

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": action = .help
            case "--list": action = .list
            case "--markdown": isMarkdown = true
            case "--measure": action = .measure(row: try Self.value(of: argument, &rest))
            case "--curves": action = .curves
            case "--draw": action = .draw(page: try Self.value(of: argument, &rest))
            case "--watch": action = .watch(file: try Self.value(of: argument, &rest))
            case "--etcd": action = .etcd
            case "--watch-etcd": action = .watchEtcd(try EtcdWatcher(Self.value(of: argument, &rest)))
            case "--in": folder = try Self.value(of: argument, &rest)
            case _ where argument.hasPrefix("-"): throw UsageError("unknown option: \(argument)")
            default: names.append(argument)
            }
        }
    }

    /// The elements with one of the names, complete or prefixes, in their own order; all if there are no names.
    ///
    /// - Throws: ``UsageError`` with a name that selects nothing.
    func selected<Element>(from elements: [Element], by name: (Element) -> String) throws(UsageError) -> [Element] {
        for wanted in names where !elements.contains(where: { name($0).hasPrefix(wanted) }) {
            throw UsageError("nothing is named \(wanted)")
        }
        return names.isEmpty ? elements : elements.filter { element in names.contains { name(element).hasPrefix($0) } }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst(), !value.isEmpty else { throw UsageError("\(option) needs a value") }
        return value
    }
}

extension Options {
    static let usage = """
        usage: benchmarks [--markdown] [--in FOLDER] [NAME ...]
               benchmarks --curves [--markdown] [--in FOLDER] [NAME ...]
               benchmarks --etcd [NAME ...]
               benchmarks --draw PAGE
               benchmarks --list

        Compares the library's work with the same work done without it, and tells whether the goals are met.

          --markdown   the tables as the documentation has them
          --curves     how the cost grows with keys, subscribers, processes and sizes
          --draw PAGE  draws the tables of a page made with --markdown in the folder Resources beside it, and measures nothing
          --etcd       what watching etcd costs by watchers, keys, prefixes and changes, as tables; needs Linux
          --in FOLDER  where files are made: on the file system that is to be measured
          peers        SQLite, LMDB and libplist beside the library, where they are installed
          --list       the names; NAME is one of them, or how some of them begin

        Exit status: 0 every goal is met, 1 some are not, 2 wrong usage.
        """
}
