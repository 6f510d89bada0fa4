import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Changes of a file since a revision", .timeLimit(.minutes(10)))
struct ResumingFileTests {
    private static let journal = JournalMode.full()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func backend() -> PropertyListFile {
        PropertyListFile(at: folder.file("settings.plist"), journal: Self.journal)
    }

    private func open() throws -> ObservableStore {
        try ObservableStore(backend: backend())
    }

    @Test("A reader that comes back in another process has every commit, with its own edits as external")
    func reopened() async throws {
        let first = try open()
        try await first.update { $0[Keys.count] = 1 }
        let kept = try #require(first.storageRevision)
        first[Keys.count] = 2
        try await first.flush()
        try await first.update { transaction in
            transaction[Keys.count] = 3
            transaction[Keys.text] = "a"
        }
        try await first.close()
        let second = try open()
        let changes = try #require(try await second.changes(since: kept))
        try await second.update { $0[Keys.text] = "b" }
        var told: [Change<PropertyListValue?>] = []
        for await change in changes {
            told.append(change)
            if change.newValue == "b" { break }
        }
        #expect(told.map(\.key) == ["count", "count", "text", "text"])
        #expect(told.map(\.newValue) == [2, 3, "a", "b"])
        #expect(told.map(\.origin) == [.external, .external, .external, .local])
        #expect(told[1].storageRevision == told[2].storageRevision && told[3].storageRevision == second.storageRevision)
    }

    @Test("A commit has its time and its writer")
    func commits() async throws {
        let store = try open()
        let start = Date()
        try await store.update { $0[Keys.count] = 1 }
        let storage: any StorageBackend = backend()
        let commit = try #require(try await storage.commits(since: nil)?.last)
        #expect(commit.edits == ["count": .init(from: nil, to: 1)] && commit.revision == store.storageRevision)
        #expect(try #require(commit.time) >= start.addingTimeInterval(-1))
        #expect(try #require(commit.writer).contains(String(ProcessInfo.processInfo.processIdentifier)))
    }

    @Test("Readers that stop and resume while several stores write miss nothing and see nothing twice", arguments: [1, 2] as [UInt64])
    func history(seed: UInt64) async throws {
        let stores = [try open(), try open(), try open()]
        try await stores[0].update { $0[StorageKey<PropertyListValue?>("start")] = 1 }
        let start = try #require(stores[0].storageRevision)
        let reading = Task { [store = stores[2]] in try await Self.read(store, since: start, seed: seed) }
        try await withThrowingTaskGroup { group in
            for (number, store) in stores.prefix(2).enumerated() {
                group.addTask {
                    var writer = RandomWriter("w\(number)", seed: seed, store: store)
                    try await writer.run(steps: 100)
                    try await store.flush()
                }
            }
            try await group.waitForAll()
        }
        try await stores[0].update { $0[StorageKey<PropertyListValue?>("end")] = 1 }
        let storage: any StorageBackend = backend()
        let commits = try #require(try await storage.commits(since: start))
        var states: [StorageRevision: [String: PropertyListValue]] = [start: ["start": 1]]
        var entries = states[start] ?? [:]
        for commit in commits {
            for (name, edit) in commit.edits {
                #expect(entries[name] == edit.oldValue)
                entries[name] = edit.newValue
            }
            states[commit.revision] = entries
        }
        for (since, changes) in try await reading.value {
            var entries = try #require(states[since])
            var last: StorageRevision?
            for change in changes {
                // Live changes of a file may combine several commits.
                if let last, change.storageRevision != last { #expect(entries == states[last]) }
                last = change.storageRevision
                try #require(entries[change.key] == change.oldValue)
                entries[change.key] = change.newValue
            }
        }
        for store in stores { try await store.close() }
    }

    private static func read(
        _ store: ObservableStore, since start: StorageRevision, seed: UInt64
    ) async throws -> [(since: StorageRevision, changes: [Change<PropertyListValue?>])] {
        var generator = SeededGenerator(seed: seed)
        var parts: [(since: StorageRevision, changes: [Change<PropertyListValue?>])] = []
        var kept = start
        while true {
            var changes: [Change<PropertyListValue?>] = []
            let (since, length) = (kept, Int.random(in: 1...60, using: &generator))
            var last: StorageRevision?
            for await change in try #require(try await store.changes(since: since)) {
                if let last, change.storageRevision != last { kept = last }
                last = change.storageRevision
                changes.append(change)
                if change.key == "end" || changes.count == length { break }
            }
            parts.append((since, changes))
            if changes.last?.key == "end" { return parts }
        }
    }
}
