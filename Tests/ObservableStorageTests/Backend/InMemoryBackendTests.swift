import ObservableStorage
import PropertyListCoding
import Testing

@Suite("The commits that memory remembers", .timeLimit(.minutes(10)))
struct InMemoryBackendTests {
    private func backend(_ commits: Int, remembered: Int) throws -> InMemoryBackend {
        let backend = InMemoryBackend(["count": 0], rememberedCommits: remembered)
        for number in 0..<commits { _ = try backend.edit { $0["count"] = .integer(PropertyListInteger(Int64(number + 1))) } }
        return backend
    }

    private func revision(_ backend: InMemoryBackend, _ number: UInt64) throws -> StorageRevision {
        StorageRevision(history: try #require(backend.load().revision).history, number: number)
    }

    @Test("A commit has the old and the new values of its edits, its revision and its time")
    func contents() async throws {
        let backend = InMemoryBackend(["a": 1, "b": 2])
        let start = try #require(backend.load().revision)
        _ = try backend.edit { entries in
            (entries["a"], entries["b"], entries["c"], entries["d"]) = (3, nil, 4, nil)
        }
        _ = try backend.edit { _ in }
        let commits = try #require(await backend.commits(since: start))
        try #require(commits.count == 1)
        #expect(commits[0].edits == ["a": .init(from: 1, to: 3), "b": .init(from: 2, to: nil), "c": .init(from: nil, to: 4)])
        #expect(commits[0].revision == backend.load().revision && commits[0].time != nil)
    }

    @Test("The last ones are remembered, each exactly as long as it is one of them", arguments: 0...12, [0, 1, 3, 100])
    func limit(count: Int, remembered: Int) async throws {
        let backend = try backend(count, remembered: remembered)
        let kept = min(count, remembered)
        #expect(await backend.commits(since: nil)?.map(\.revision.number) == (count - kept..<count).map { UInt64($0 + 1) })
        for number in 0...count {
            let commits = await backend.commits(since: try revision(backend, UInt64(number)))
            let expected = number < count - kept ? nil : (number..<count).map { UInt64($0 + 1) }
            #expect(commits?.map(\.revision.number) == expected, "since \(number)")
        }
    }

    @Test("A later revision, or one of another backend, is not known")
    func unknown() async throws {
        let backend = try backend(2, remembered: 10)
        #expect(await backend.commits(since: try revision(backend, 3)) == nil)
        #expect(await backend.commits(since: try revision(try self.backend(2, remembered: 10), 1)) == nil)
    }
}
