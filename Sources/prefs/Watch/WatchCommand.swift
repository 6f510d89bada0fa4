import Dispatch
import FoundationSubset
import ObservableStorage

extension Command {
    static let watch = Command(
        "watch", operands: "FILE [KEY ...]",
        options: ["--json", "--initial", "--since REVISION", "--count N", "--lines", EntryPath.literalOption],
        etcdOperand: 0,
        summary: "Print a line for each change of the keys, or of all, until interrupted; on a terminal, show a live table.",
        details: """
              --json      print objects: {"key","old","new","kind","origin","revision","storageRevision"}. old and new are null where nothing
                          is stored; kind is set, removed or initial; origin is external, or null for an initial value; storageRevision is
                          the revision of the file, or null if it has no journal
              --initial   print the current values first, for named keys also when they are not set
              --since REVISION
                          print the changes since a storageRevision first, and exit with 4 if the file does not have them any more
              --count N   stop after N lines
              --lines     print lines also on a terminal, as the other options do

            To continue later, save the storageRevision of a line once a line with another one follows: then all of its changes were printed.

            With a KEY that is a path, only changes of its value are printed.

            The table on a terminal has a row for each key, with its value and, once it has changed, the time, the origin and the old value.
            Rows of the last change are marked with *. Without --lines, it is not used if TERM is dumb.

            The file need not exist yet. SIGINT and SIGTERM end the command with status 0. Changes with the same revision are one transaction.
            Lines that are not read from a pipe are buffered in memory.
            """
    ) { arguments, output in
        let watch = try WatchCommand(arguments)
        Prefs.run { try await watch.run(output) }
    }
}

struct WatchCommand {
    private let storage: EntryStorage
    /// The values to watch, each once and in the order given; all entries if empty.
    private let paths: [EntryPath]
    private let isJSON: Bool
    private let printsInitialValues: Bool
    private let start: StorageRevision?
    private let lineLimit: Int
    private let isTable: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        let text = arguments.options["count"] ?? String(Int.max)
        guard let count = Int(text), count > 0 else { throw .usage("not a number of lines: \(text)") }
        lineLimit = count
        storage = try EntryStorage(arguments)
        var given: Set<String> = []
        paths = arguments.operands.dropFirst().filter { given.insert($0).inserted }
            .map { EntryPath($0, isLiteral: arguments.has("literal")) }
        isJSON = arguments.has("json")
        printsInitialValues = arguments.has("initial")
        start = try arguments.options["since"].map { text throws(CommandError) in
            guard let revision = StorageRevision(text) else { throw .usage("not a revision: \(text)") }
            return revision
        }
        guard start == nil || !printsInitialValues else { throw .usage("--since and --initial exclude each other") }
        isTable = !["json", "initial", "since", "count", "lines"].contains(where: arguments.has) && Terminal.isAvailable
    }

    fileprivate func run(_ output: Output) async throws {
        if isTable {
            // While it waits for a cluster; later, those of the terminal, which is restored before the end.
            for number in [SIGINT, SIGTERM] { signal(number) { _ in _exit(0) } }
            return try await displayTable(of: ObservableStore.open(storage.backend), output)
        }
        // These end the process even while it waits for a cluster, or a write to a full pipe blocks.
        let signals = onSignals([SIGINT, SIGTERM]) { _ in exit(0) }
        output.onClose { exit(0) }
        let store = try await ObservableStore.open(storage.backend)
        let failures = Task { [stream = store.failures] in
            for await failure in stream { CommandError(failure).report() }
        }
        defer {
            failures.cancel()
            withExtendedLifetime((signals, store)) {}
        }
        try await printLines(of: store, output)
    }

    /// Prints the changes since the given revision, or the current values if they are requested, and every later change.
    private func printLines(of store: ObservableStore, _ output: Output) async throws {
        // Subscribes before it takes the snapshot, so that no change is missed, and skips changes that the snapshot includes.
        let changes = if let start { try await Self.changes(of: store, since: start) } else { store.allChanges() }
        var (entries, revision, storageRevision) = Self.snapshot(of: store)
        var remaining = lineLimit
        func print(_ line: WatchLine) throws {
            try output.write(line: isJSON ? line.json : line.text(for: output))
            remaining -= 1
        }
        let lines = printsInitialValues ? initialLines(entries, revision, storageRevision) : []
        for line in lines.prefix(remaining) { try print(line) }
        if remaining == 0 { return }
        for await change in changes {
            for line in self.lines(for: change, in: &entries, after: start == nil ? revision : nil) {
                try print(line)
                if remaining == 0 { return }
            }
        }
    }

    /// The changes in a store's file since a revision, and every later one.
    static func changes(
        of store: ObservableStore, since revision: StorageRevision
    ) async throws -> AsyncStream<Change<PropertyListValue?>> {
        if let changes = try await store.changes(since: revision) { return changes }
        let reason =
            store.storageRevision == nil
            ? CommandError.noJournal : "what has changed since \(revision) is not remembered, or \(revision) is no revision of it"
        throw CommandError.notRemembered("\(store.name): \(reason); without --since, --initial prints the current values")
    }

    /// Reads a store's entries with their revisions, and again if a change was made in between.
    private static func snapshot(
        of store: ObservableStore
    ) -> (entries: [String: PropertyListValue], revision: UInt64, storageRevision: StorageRevision?) {
        var revision = store.revision
        while true {
            let (entries, storageRevision) = (store.entries, store.storageRevision)
            let latest = store.revision
            if latest == revision { return (entries, revision, storageRevision) }
            revision = latest
        }
    }

    /// The lines for the current values: of the watched paths, set or not, in the order given, or of all entries, sorted.
    private func initialLines(
        _ entries: [String: PropertyListValue], _ revision: UInt64, _ storageRevision: StorageRevision?
    ) -> [WatchLine] {
        let values: [(String, PropertyListValue?)] =
            paths.isEmpty ? entries.sortedEntries.map { ($0.key, $0.value) } : paths.map { ($0.text, $0.value(in: entries)) }
        return values.map { WatchLine(key: $0, new: $1, revision: revision, storageRevision: storageRevision) }
    }

    /// The lines for a change, which is applied to the entries: of each watched value that is different; none if the change is not newer than
    /// the revision.
    func lines(
        for change: Change<PropertyListValue?>, in entries: inout [String: PropertyListValue], after revision: UInt64?
    ) -> [WatchLine] {
        guard revision.map({ change.revision > $0 }) ?? true else { return [] }
        if paths.isEmpty { return [WatchLine(change)] }
        // In all entries, because an entry `a.b` takes precedence over the entry `b` of a dictionary `a`.
        entries[change.key] = change.oldValue
        let before = paths.map { $0.value(in: entries) }
        entries[change.key] = change.newValue
        return zip(paths, before).compactMap { path, old in
            var line = WatchLine(change)
            (line.key, line.old, line.new) = (path.text, old, path.value(in: entries))
            return line.old == line.new ? nil : line
        }
    }
}

// MARK: - The table

extension WatchCommand {
    private func displayTable(of store: ObservableStore, _ output: Output) async {
        let terminal = Terminal(output)
        let changes = store.allChanges()
        let (entries, revision, _) = Self.snapshot(of: store)
        let keys = paths.isEmpty ? nil : paths.map(\.text)
        let values = paths.isEmpty ? entries : paths.reduce(into: [:]) { $0[$1.text] = $1.value(in: entries) }
        await withTaskGroup { group in
            group.addTask {
                var entries = entries
                for await change in changes {
                    for line in lines(for: change, in: &entries, after: revision) {
                        terminal.send(.change(line, time: Terminal.timeOfDay()))
                    }
                }
            }
            group.addTask { [failures = store.failures] in
                for await failure in failures { terminal.send(.failure("\(failure)")) }
            }
            await terminal.display(WatchTable(title: storage.name, entries: values, keys: keys))
            group.cancelAll()
        }
    }
}

/// Calls a closure for signals that arrive after this call has returned, instead of the default action, as long as the sources are
/// referenced.
func onSignals(_ numbers: [Int32], _ body: @escaping @Sendable (Int32) -> Void) -> [any DispatchSourceSignal] {
    let queue = DispatchQueue(label: "prefs signals")
    let registered = DispatchGroup()
    let sources = numbers.map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        registered.enter()
        source.setRegistrationHandler { registered.leave() }
        source.setEventHandler { body(number) }
        source.activate()
        return source
    }
    // Signals are ignored until then.
    registered.wait()
    return sources
}
