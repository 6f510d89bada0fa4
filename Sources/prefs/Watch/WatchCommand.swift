import Dispatch
import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs watch`: prints a line for each change, or displays a table on a terminal, until it is interrupted.
struct WatchCommand: Command {
    static let name = "watch"
    static let operands = "FILE [KEY ...]"
    static let operandCount = 1...Int.max
    static let options = ["--json", "--initial", "--count N", "--lines"]
    static let summary = "Print a line for each change of the keys, or of all, until interrupted; on a terminal, show a live table."
    static let details = """
          --json      print objects: {"key","old","new","kind","origin","revision"}. old and new are null where nothing is stored;
                      kind is set, removed or initial; origin is external, or null for an initial value
          --initial   print the current values first, for named keys also when they are not set
          --count N   stop after N lines
          --lines     print lines also on a terminal, as the other options do

        The table on a terminal has a row for each key, with its value and, once it has changed, the time, the origin and the old value.
        Rows of the last change are marked with *. Without --lines, it is not used if TERM is dumb.

        The file need not be there yet. SIGINT and SIGTERM end the command with status 0. Changes of one revision were made at once.
        Lines that nobody reads from a pipe wait in memory.
        """

    private let file: PropertyListFile
    /// The keys to watch, each once and in the order given; all keys if empty.
    private let keys: [String]
    private let keySet: Set<String>
    private let isJSON: Bool
    private let printsInitialValues: Bool
    private let lineLimit: Int
    private let isTable: Bool

    init(_ arguments: Arguments) throws(CommandError) {
        let text = arguments.options["count"] ?? String(Int.max)
        guard let count = Int(text), count > 0 else { throw .usage("not a number of lines: \(text)") }
        lineLimit = count
        file = PropertyListFile(operand: arguments.operands[0])
        var keySet: Set<String> = []
        keys = arguments.operands.dropFirst().filter { keySet.insert($0).inserted }
        self.keySet = keySet
        isJSON = arguments.has("json")
        printsInitialValues = arguments.has("initial")
        isTable = !["json", "initial", "count", "lines"].contains(where: arguments.has) && Terminal.isAvailable
    }

    // The only command that waits for events, so that the others start without Dispatch and the concurrency runtime.
    func run(_ output: Output) throws {
        let store = try ObservableStore(backend: file)
        Task {
            do {
                try await watch(store, output)
                exit(0)
            } catch {
                Prefs.fail(error)
            }
        }
        dispatchMain()
    }

    private func watch(_ store: ObservableStore, _ output: Output) async throws {
        if isTable { return await displayTable(of: store, output) }
        // These end the process even while a write to a reader that does not read is blocking.
        let signals = onSignals([SIGINT, SIGTERM]) { _ in exit(0) }
        output.onClose { exit(0) }
        let failures = Task { [stream = store.failures] in
            for await failure in stream { CommandError(failure).report() }
        }
        defer {
            failures.cancel()
            withExtendedLifetime((signals, store)) {}
        }
        try await printLines(of: store, output)
    }

    /// Subscribes before it takes the snapshot, so that no change is missed, and skips changes that the snapshot includes.
    private func printLines(of store: ObservableStore, _ output: Output) async throws {
        let changes = store.allChanges
        let (entries, revision) = Self.snapshot(of: store)
        var remaining = lineLimit
        for line in printsInitialValues ? initialLines(entries, revision: revision) : [] {
            try output.write(line: text(of: line, output))
            remaining -= 1
            if remaining == 0 { return }
        }
        for await change in changes {
            guard let line = line(for: change, after: revision) else { continue }
            try output.write(line: text(of: line, output))
            remaining -= 1
            if remaining == 0 { return }
        }
    }

    /// Reads a store's entries with their revision, and again if a change was made in between.
    private static func snapshot(of store: ObservableStore) -> (entries: [String: PropertyListValue], revision: UInt64) {
        var revision = store.revision
        while true {
            let entries = store.entries
            let latest = store.revision
            if latest == revision { return (entries, revision) }
            revision = latest
        }
    }

    /// The lines for the current values: of the watched keys, set or not, in the order given, or of all entries, sorted.
    private func initialLines(_ entries: [String: PropertyListValue], revision: UInt64) -> [WatchLine] {
        (keys.isEmpty ? entries.keys.sorted { $0.precedes($1) } : keys).map { key in
            WatchLine(key: key, new: entries[key], revision: revision)
        }
    }

    /// Returns the line for a change of a watched key, or nil if the key is not watched or the change is not newer than the revision.
    func line(for change: Change<PropertyListValue?>, after revision: UInt64) -> WatchLine? {
        guard change.revision > revision, keys.isEmpty || keySet.contains(change.key) else { return nil }
        return WatchLine(change)
    }

    private func text(of line: WatchLine, _ output: Output) -> String {
        isJSON ? line.json : line.text(for: output)
    }
}

// MARK: - The table

extension WatchCommand {
    private func displayTable(of store: ObservableStore, _ output: Output) async {
        let terminal = Terminal(output)
        let changes = store.allChanges
        let (entries, revision) = Self.snapshot(of: store)
        let keys = keys.isEmpty ? nil : keys
        await withTaskGroup { group in
            group.addTask {
                for await change in changes {
                    if let line = line(for: change, after: revision) { terminal.send(.change(line, time: Terminal.timeOfDay())) }
                }
            }
            group.addTask { [failures = store.failures] in
                for await failure in failures { terminal.send(.failure("\(failure)")) }
            }
            await terminal.display(WatchTable(title: file.name, entries: entries, keys: keys))
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
    // A signal that arrives before is ignored.
    registered.wait()
    return sources
}
