import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Resuming observation", .timeLimit(.minutes(10)))
struct ResumingObservationTests {
    // snippet: ResumingObservation
    struct Copy: Codable, Sendable {
        var values: [String: PropertyListValue] = [:]
        var revision: StorageRevision?
    }
    // end

    // snippet: ResumingObservation
    func changes(of store: ObservableStore, for copy: inout Copy) async throws -> AsyncStream<Change<PropertyListValue?>>? {
        if let revision = copy.revision, let changes = try await store.changes(since: revision) { return changes }
        copy.revision = store.storageRevision
        copy.values = store.snapshot.entries
        guard let revision = copy.revision else { return nil }
        return try await store.changes(since: revision)
    }
    // end

    // snippet: ResumingObservation
    func follow(_ changes: AsyncStream<Change<PropertyListValue?>>, _ copy: inout Copy) async {
        var last: StorageRevision?
        for await change in changes {
            if let last, change.storageRevision != last { copy.revision = last }
            last = change.storageRevision
            copy.values[change.key] = change.newValue
        }
    }
    // end

    private func commit(_ values: [String: PropertyListValue?], to backend: InMemoryBackend) throws {
        _ = try backend.edit { entries in
            for (key, value) in values { entries[key] = value }
        }
    }

    /// Follows a store that is closed after some commits, and returns the copy as it was stored.
    private func followed(_ backend: InMemoryBackend, _ copy: Copy, _ commits: [[String: PropertyListValue?]]) async throws -> Copy {
        let store = try ObservableStore(backend: backend)
        var copy = copy
        let changes = try #require(try await changes(of: store, for: &copy))
        for values in commits { try commit(values, to: backend) }
        let last = try #require(backend.load().revision)
        // The commits have been told when the store has their revision.
        while store.storageRevision != last { await Task.yield() }
        try await store.close()
        await follow(changes, &copy)
        return try JSONDecoder().decode(Copy.self, from: JSONEncoder().encode(copy))
    }

    @Test("A copy that is kept by several processes one after the other has every change, also after the storage has forgotten some")
    func copies() async throws {
        let backend = InMemoryBackend(["a": 1, "b": 1], rememberedCommits: 3)
        var copy = try await followed(backend, Copy(), [["a": 2, "b": 2], ["c": 3]])
        #expect(copy.values == ["a": 2, "b": 2, "c": 3])
        // The last commit may not have been told to its end.
        #expect(copy.revision?.number == 1)
        try commit(["b": nil], to: backend)
        copy = try await followed(backend, copy, [["a": 4]])
        #expect(copy.values == ["a": 4, "c": 3] && copy.revision?.number == 3)
        for number in 1...10 { try commit(["a": .integer(PropertyListInteger(Int64(number)))], to: backend) }
        copy = try await followed(backend, copy, [["b": 5]])
        #expect(copy.values == backend.load().values && copy.revision?.number == 14)
    }

    @Test("A storage without revisions has no copy to continue")
    func withoutRevisions() async throws {
        var copy = Copy()
        #expect(try await changes(of: try Fixture.thirdParty.make(["a": 1]).open(), for: &copy) == nil)
        #expect(copy.values == ["a": 1])
    }
}
