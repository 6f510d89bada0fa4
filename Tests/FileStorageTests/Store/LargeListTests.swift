import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Memory of a large list", .timeLimit(.minutes(10)))
struct LargeListTests {
    private let folder: TemporaryFolder
    private let count = 2_000

    init() throws {
        folder = try TemporaryFolder.inMemory()
    }

    private func key(_ number: Int) -> StorageKey<String> {
        StorageKey("key.\(number)", default: "")
    }

    private func text(_ number: Int) -> String {
        String(repeating: "x", count: 4_800) + String(number)
    }

    /// A store of a list of 10 MB.
    private func store(_ journal: JournalMode) throws -> ObservableStore {
        let file = folder.file("list.plist")
        let entries = (0..<count).map { ("key.\($0)", PropertyListValue.string(text($0))) }
        try PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: entries)).encoded(as: .binary).write(to: file)
        return try ObservableStore(at: file, configuration: .with { $0.journal = journal })
    }

    /// The number of entries in memory besides the list.
    private func touched(_ store: ObservableStore) -> Int {
        store.cache.update { $0.entries.touched.count }
    }

    /// Waits until entries that were written are released, for a multiple of what the store's queue has to do before.
    private func settle(_ store: ObservableStore) async {
        for _ in 0..<1_000 where touched(store) >= 10 { await store.settle() }
    }

    @Test("Entries that were edited and written are found in the list", arguments: [JournalMode.off, .edits, .full()])
    func edited(_ journal: JournalMode) async throws {
        let store = try store(journal)
        let observer = store.values(of: key(0))
        for round in 1...2 {
            for number in 0..<count { store[key(number)] = text(number + round) }
            store[StorageKey("new \(round)", default: 0)] = 1
            store.remove(key(count - round))
            try await store.flush()
            await settle(store)
            #expect(touched(store) < 10)
            let base = await store.synchronizer.base
            #expect(base.stored.encodedSize > 8 << 20)
            for number in stride(from: 0, to: count - 2, by: 99) {
                #expect(store[key(number)] == text(number + round))
            }
            #expect(store.entries == base.values && store.entries.count == count + round - 1)
        }
        for await value in observer {
            #expect(value == text(2))
            break
        }
        // Later edits are compared with what is found there.
        let revision = store.revision
        store[key(5)] = text(7)
        #expect(store.revision == revision)
        store[key(5)] = text(8)
        try await store.update { $0[key(6)] = text(9) }
        #expect(store[key(5)] == text(8) && store[key(6)] == text(9))
        try await store.close()
        #expect(try ObservableStore(at: folder.file("list.plist"), access: .readOnly).entries == store.entries)
    }

    @Test("A list in which no entry can be found again is examined once", arguments: [JournalMode.off, .edits, .full()])
    func indivisible(_ journal: JournalMode) async throws {
        let store = try store(journal)
        let journaling = try #require(store.synchronizer.storage.journaling)
        let name = StorageKey("\u{E9}", default: 0)
        store[name] = 1
        for number in 0..<20 { store[key(number)] = text(number + 1) }
        try await store.flush(to: .storage)
        for _ in 0..<1_000 where journaling.hasReleasableValues { await store.settle() }
        #expect(!journaling.hasReleasableValues && touched(store) > 20)
        let other = try ObservableStore(at: folder.file("list.plist"), access: .readOnly)
        #expect(other.synchronizer.storage.journaling?.hasReleasableValues == false && other.entries == store.entries)
        // Until it is written without the cause.
        store.remove(name)
        try await store.flush(to: .storage)
        await settle(store)
        #expect(!journaling.hasReleasableValues && touched(store) < 10)
        try await store.close()
    }

    @Test("A commit to the journal is no reason to examine the list")
    func commits() async throws {
        let store = try store(.full(quiet: .seconds(3600), atMost: .seconds(3600)))
        let journaling = try #require(store.synchronizer.storage.journaling)
        for number in 1...6 {
            store[key(number)] = "edited"
            try await store.flush(to: .journal)
            #expect(journaling.needsCheckpoint && !journaling.hasReleasableValues)
            guard number == 3 else { continue }
            try await store.flush(to: .storage)
            for _ in 0..<1_000 where journaling.hasReleasableValues { await store.settle() }
        }
        try await store.close()
    }

    @Test("Changes by others to entries that are found in the list are noticed", arguments: [JournalMode.edits, .full()])
    func external(_ journal: JournalMode) async throws {
        let store = try store(journal)
        store[key(1)] = "own"
        try await store.flush()
        await settle(store)
        let other = try ObservableStore(at: folder.file("list.plist"), configuration: .with { $0.journal = journal })
        other[key(1)] = "other's"
        other.remove(key(2))
        try await other.close()
        try await store.reload()
        #expect(store[key(1)] == "other's" && !store.isSet(key(2)) && store[key(3)] == text(3))
        try await store.close()
    }
}
