import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Mixed load on an etcd cluster, for as long as wanted: increments, and random edits whose history is checked again and again.
///
/// It is controlled by lines of standard input: `figures` prints one line of figures, `mark TEXT` sets an entry without waiting, and `end`
/// stops the writing. It then prints `written`, and after another line its final state. Violations are printed as they are found.
final class EtcdLoad: Sendable {
    /// What is counted.
    private struct Figures: Sendable {
        var increments = 0
        var writes = 0
        var changes = 0
        var checks = 0
        var violations = 0
        /// When an edit was stored last.
        var lastEdit = ContinuousClock.now
        /// The longest time between two stored edits since the last figures.
        var longest = Duration.zero
        var isEnding = false

        mutating func noteEdit() {
            longest = max(longest, .now - lastEdit)
            lastEdit = .now
        }
    }

    private static let steps = 100

    private let peer: EtcdPeer
    private let name: String
    private let seed: UInt64
    private let others: Set<String>
    private let figures = Lock(Figures())

    /// - Parameter arguments: the command, endpoints, prefix, the name, the seed, and the names of the others, separated by commas.
    init(_ arguments: [String]) {
        peer = EtcdPeer(arguments)
        (name, seed, others) = (arguments[3], UInt64(arguments[4]) ?? 0, Set(arguments[5].split(separator: ",").map(String.init)))
    }

    func run() async throws {
        let store = try await peer.open()
        let reports = Task {
            // People should know, but the storage does fail here.
            for await failure in store.failures { FileHandle.standardError.write(Data("\(name): \(failure)\n".utf8)) }
        }
        var check = HistoryCheck(of: store, others: others)
        try Peer.say("ready")
        // Reading blocks, and the pool of tasks has few threads.
        Thread.detachNewThread { self.answer(store) }
        let counting = Task { try await count(store) }
        var writer = RandomWriter(name, seed: seed, store: store, toleratesFailures: true)
        while !isEnding {
            try await writer.run(steps: Self.steps)
            try await self.check(&check, &writer)
        }
        try await counting.value
        try await store.flush()
        try Peer.say("written")
        _ = readLine()
        // A transaction begins with the entries stored by then.
        try await store.update { _ in }
        let (own, end) = (store[EtcdPeer.count(of: name)], store.entries)
        try await store.close()
        try report(await check.rest(writer.takeWrites(), by: name, end: end))
        let (increments, violations) = figures.withLock { ($0.increments, $0.violations) }
        if own != increments { try Peer.say("violation: \(increments) increments are counted as \(own)") }
        try Peer.say("end \(try History.hexadecimal(end))")
        try Peer.say("sum \(own) of \(end["count"] ?? 0)")
        await reports.value
        if violations > 0 || own != increments { exit(1) }
    }

    private var isEnding: Bool { figures.withLock { $0.isEnding } }

    /// Ends a part of the history with a transaction, and checks it.
    private func check(_ check: inout HistoryCheck, _ writer: inout RandomWriter) async throws {
        while true {
            guard let mark = try await writer.writeGroup() else { continue }
            figures.withLock { $0.noteEdit() }
            let writes = writer.takeWrites()
            let (violations, changes) = await check.part(until: mark, writes, by: name)
            figures.withLock { ($0.writes, $0.changes, $0.checks) = ($0.writes + writes.count, $0.changes + changes, $0.checks + 1) }
            return try report(violations)
        }
    }

    private func report(_ violations: [History.Violation]) throws {
        figures.withLock { $0.violations += violations.count }
        for violation in violations { try Peer.say("violation: \(name): \(violation)") }
    }

    private func count(_ store: ObservableStore) async throws {
        var number = 0
        while !isEnding {
            number += 1
            try await EtcdPeer.increment(store, as: name, to: number)
            figures.withLock { figures in
                figures.increments += 1
                figures.noteEdit()
            }
            // Others want to write as well.
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func answer(_ store: ObservableStore) {
        do {
            while let line = readLine(), line != "end" {
                if line == "figures" { try tell() }
                if line.hasPrefix("mark ") { try store.set(String(line.dropFirst(5)), for: StorageKey("mark", default: "")) }
            }
        } catch {
            FileHandle.standardError.write(Data("\(name): \(error)\n".utf8))
            exit(1)
        }
        figures.withLock { $0.isEnding = true }
    }

    private func tell() throws {
        let now = figures.withLock { figures in
            defer { figures.longest = .zero }
            figures.longest = max(figures.longest, .now - figures.lastEdit)
            return figures
        }
        let longest = Int(now.longest / .milliseconds(1))
        try Peer.say(
            "figures \(now.increments) \(now.writes) \(now.changes) \(now.checks) \(now.violations) \(longest) \(heapUse / 1024)")
    }
}

/// Checks what a store tells in parts, so that it can go on for days.
private struct HistoryCheck {
    private let others: Set<String>
    private let observed = Set(RandomWriter.keys + RandomWriter.group)
    private var changes: AsyncStream<History.Step>.Iterator
    // As told until now.
    private var entries: [String: PropertyListValue]

    init(of store: ObservableStore, others: Set<String>) {
        self.others = others
        changes = store.allChanges().makeAsyncIterator()
        entries = store.entries.filter { [observed] in observed.contains($0.key) }
    }

    /// Checks what was told until a transaction of the store's own, with its writes until then; returns the number of changes, too.
    mutating func part(until mark: History.Mark, _ writes: [History.Write], by name: String) async -> ([History.Violation], Int) {
        var history = History()
        while let change = await changes.next() {
            guard observed.contains(change.key) else { continue }
            history.changes.append(change)
            if change.newValue == mark.value && change.key == RandomWriter.group.max() { break }
        }
        return (violations(of: history, writes, by: name, end: nil), history.changes.count)
    }

    /// Checks what was told until the store was closed.
    mutating func rest(
        _ writes: [History.Write], by name: String, end: [String: PropertyListValue]
    ) async -> [History.Violation] {
        var history = History()
        while let change = await changes.next() {
            if observed.contains(change.key) { history.changes.append(change) }
        }
        return violations(of: history, writes, by: name, end: end.filter { observed.contains($0.key) })
    }

    private mutating func violations(
        of history: History, _ writes: [History.Write], by name: String, end: [String: PropertyListValue]?
    ) -> [History.Violation] {
        var history = history
        (history.start, history.group, history.others, history.writes) = (entries, RandomWriter.group, others, [name: writes])
        for change in history.changes { entries[change.key] = change.newValue }
        history.end = end ?? entries
        return history.violations
    }
}
