import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Readers that stop and resume at random points, while several stores write: everything is checked against the commits of the storage.
@Suite("Histories of readers that resume", .timeLimit(.minutes(10)))
struct ResumingHistoryTests {
    /// What a reader received from one stream.
    private struct Part: Sendable {
        let since: StorageRevision
        var changes: [Change<PropertyListValue?>] = []
    }

    private static let end = StorageKey<PropertyListValue?>("end")
    private static let keys = RandomWriter.keys + RandomWriter.group + ["end"]

    /// Reads until the last commit is told, in parts of random length.
    ///
    /// - Parameter key: the key whose changes are read; nil for all.
    private static func read(
        _ store: ObservableStore, _ key: String? = nil, since start: StorageRevision, seed: UInt64
    ) async throws -> [Part] {
        var generator = SeededGenerator(seed: seed)
        var parts: [Part] = []
        var kept = start
        while true {
            var part = Part(since: kept)
            var last: StorageRevision?
            let length = Int.random(in: 1...60, using: &generator)
            let changes =
                if let key {
                    try await store.changes(of: StorageKey<PropertyListValue?>(key), since: kept)
                } else {
                    try await store.changes(since: kept)
                }
            for await change in try #require(changes) {
                if let last, change.storageRevision != last { kept = last }
                last = change.storageRevision
                part.changes.append(change)
                let isAtEnd = change.key == "end" || key != nil && change.newValue == end(key)
                if isAtEnd {
                    parts.append(part)
                    return parts
                }
                if part.changes.count == length { break }
            }
            parts.append(part)
        }
    }

    /// The value that the last commit gives a key.
    private static func end(_ key: String?) -> PropertyListValue {
        .string("end of \(key ?? "all")")
    }

    /// The entries at each revision.
    private static func states(_ commits: [StorageCommit], from start: StorageRevision) -> [StorageRevision: [String: PropertyListValue]] {
        var entries: [String: PropertyListValue] = [:]
        return commits.reduce(into: [start: [:]]) { states, commit in
            for (name, edit) in commit.edits {
                #expect(entries[name] == edit.oldValue && edit.oldValue != edit.newValue)
                entries[name] = edit.newValue
            }
            states[commit.revision] = entries
        }
    }

    /// Checks that each change continues the state before it, from that of the storage at the revision at which the reader had stopped.
    private static func check(
        _ parts: [Part], _ states: [StorageRevision: [String: PropertyListValue]], key: String?, writes: Bool, _ name: String
    ) throws {
        for part in parts {
            var entries = try #require(states[part.since])
            var last: StorageRevision?
            for change in part.changes {
                let place = "\(name): \(change.key) to \(change.newValue as Any) at \(change.storageRevision as Any)"
                if let last, change.storageRevision != last, !writes, key == nil {
                    #expect(entries == states[last], "\(place): not all of \(last) was told")
                }
                if let now = change.storageRevision {
                    #expect(now.isNewer(than: part.since), "\(place): told again")
                    if let last { #expect(!last.isNewer(than: now), "\(place): after \(last)") }
                    last = now
                }
                try #require(entries[change.key] == change.oldValue, "\(place): was \(entries[change.key] as Any)")
                #expect(change.oldValue != change.newValue)
                entries[change.key] = change.newValue
            }
        }
    }

    @Test(
        "Each reader sees every commit once and in order, wherever it stops", arguments: ResumingTests.Kind.allCases,
        isLong ? Array(1...20) : [1, 2])
    func readers(kind: ResumingTests.Kind, seed: UInt64) async throws {
        let memory = InMemoryBackend(rememberedCommits: 100_000)
        let start = try #require(memory.load().revision)
        func open() async throws -> ObservableStore {
            try await ObservableStore.open(kind == .memory ? memory : ServiceBackend(over: memory))
        }
        let writers = [try await open(), try await open(), try await open()]
        // A store without edits of its own applies each commit separately.
        let reader = try await open()
        try await withThrowingTaskGroup(of: (String, String?, Bool, [Part]).self) { group in
            for number in 0..<3 {
                let seed = seed * 10 + UInt64(number)
                group.addTask { ("reader \(number)", nil, false, try await Self.read(reader, since: start, seed: seed)) }
            }
            for key in ["a", "x"] {
                group.addTask { ("reader of \(key)", key, false, try await Self.read(reader, key, since: start, seed: seed)) }
            }
            for (number, store) in writers.enumerated() {
                group.addTask { ("writer \(number)", nil, true, try await Self.read(store, since: start, seed: seed + UInt64(number))) }
                group.addTask { ("writer \(number) of a", "a", true, try await Self.read(store, "a", since: start, seed: seed)) }
            }
            try await withThrowingTaskGroup { writing in
                for (number, store) in writers.enumerated() {
                    writing.addTask {
                        var writer = RandomWriter("w\(number)", seed: seed, store: store)
                        try await writer.run(steps: 150)
                        try await store.flush()
                    }
                }
                try await writing.waitForAll()
            }
            _ = try memory.edit { entries in
                for key in Self.keys { entries[key] = Self.end(key) }
            }
            let commits = try #require(await memory.commits(since: start))
            let states = Self.states(commits, from: start)
            for try await (name, key, writes, parts) in group {
                try Self.check(parts, states, key: key, writes: writes, name)
                guard !writes else { continue }
                // Without edits of its own, what it kept of each part and all of the last one are exactly the commits.
                var told: [Change<PropertyListValue?>] = []
                for (part, next) in zip(parts, parts.dropFirst().map(\.since) + [memory.load().revision ?? start]) {
                    told += part.changes.filter { change in change.storageRevision.map { !$0.isNewer(than: next) } ?? false }
                }
                let made = commits.flatMap { commit in
                    let edits = commit.edits.filter { key == nil || $0.key == key }.sorted { $0.key < $1.key }
                    return edits.map { ($0.key, commit.revision, $0.value.newValue) }
                }
                // The last part of a reader of all ends within the last commit, at the name "end".
                let expected = key == nil ? made.filter { $0.1 != memory.load().revision || $0.0 <= "end" } : made
                #expect(told.map(\.key) == expected.map(\.0), "\(name)")
                #expect(told.map(\.storageRevision) == expected.map(\.1), "\(name)")
                #expect(told.map(\.newValue) == expected.map(\.2), "\(name)")
            }
        }
        for store in writers + [reader] {
            #expect(!store.cache.isObserved)
            try await store.close()
        }
    }
}
