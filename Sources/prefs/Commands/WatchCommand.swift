import Foundation
import ObservableStorage

/// `prefs watch`: prints a line for each change until it is interrupted.
struct WatchCommand: Command {
    static let name = "watch"
    static let operands = "FILE [KEY ...]"
    static let operandCount = 1...Int.max
    static let options = [Option(name: "json"), Option(name: "initial"), Option(name: "count", value: "N")]
    static let summary = "Print a line for each change of the keys, or of all, until interrupted."
    static let details = """
          --json      print objects: {"key","old","new","kind","origin","revision"}. old and new are null where nothing is stored;
                      kind is set, removed or initial; origin is external, or null for an initial value
          --initial   print the current values first, for named keys also when they are not set
          --count N   stop after N lines

        The file need not be there yet. SIGINT and SIGTERM end the command with status 0. Changes of one revision were made at once.
        Lines that nobody reads from a pipe wait in memory.
        """

    private let file: PreferencesFile
    private let keys: [String]
    private let isJSON: Bool
    private let isInitial: Bool
    private let count: Int

    init(_ arguments: Arguments) throws(ArgumentParser.Mistake) {
        let text = arguments.options["count"] ?? String(Int.max)
        guard let count = Int(text), count > 0 else { throw ArgumentParser.Mistake(reason: "not a number of lines: \(text)") }
        self.count = count
        file = PreferencesFile(arguments.operands[0])
        var seen: Set<String> = []
        keys = arguments.operands.dropFirst().filter { seen.insert($0).inserted }
        isJSON = arguments.has("json")
        isInitial = arguments.has("initial")
    }

    func run(_ output: Output) async throws {
        // Ends from wherever the process is: a reader that does not read must not keep it.
        let signals = EndSignals { exit(0) }
        OutputWatch.onClose(of: output) { exit(0) }
        let store = try ObservableStore(backend: file.backend)
        let failures = Task { [stream = store.failures] in
            for await failure in stream { Diagnostics.write(ErrorText.text(for: failure)) }
        }
        defer {
            failures.cancel()
            withExtendedLifetime((signals, store)) {}
        }
        try await tell(store, output)
    }

    /// Subscribes first and then looks: what the look shows already is not told again.
    private func tell(_ store: ObservableStore, _ output: Output) async throws {
        let changes = store.allChanges
        let snapshot = Snapshot(of: store)
        var left = count
        for line in isInitial ? snapshot.lines(of: keys) : [] {
            guard try print(line, output, &left) else { return }
        }
        let filter = WatchFilter(keys: keys, after: snapshot.revision)
        for await change in changes {
            guard let line = filter.line(for: change) else { continue }
            guard try print(line, output, &left) else { return }
        }
    }

    /// Prints a line, and tells whether more are wanted.
    private func print(_ line: WatchLine, _ output: Output, _ left: inout Int) throws -> Bool {
        try output.write(line: isJSON ? line.json : line.text(style: output.style))
        left -= 1
        return left > 0
    }
}
