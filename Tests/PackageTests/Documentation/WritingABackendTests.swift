import Dispatch
import Foundation
import ObservableStorage
import ObservableStorageTesting
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

nonisolated extension StorageKey<Double> {
    fileprivate static let volume = StorageKey("volume", default: 0.8)
}

@Suite("Writing a backend", .timeLimit(.minutes(10)))
struct WritingABackendTests {
    // snippet: WritingABackend
    final class JSONBackend: BlockingStorageBackend {
        private let file: URL
        private let lock = Mutex(())
        private let edits = ChangePublisher<StorageEvent>()

        init(_ file: URL) { self.file = file }

        var name: String { file.path }

        func load() throws -> StorageEntries {
            guard FileManager.default.fileExists(atPath: file.path) else { return StorageEntries() }
            let data = try Data(contentsOf: file)
            return StorageEntries(try JSONDecoder().decode([String: PropertyListValue].self, from: data))
        }

        func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
            let entries = try lock.withLock { _ in
                var entries = try load()
                try body(&entries)
                guard !entries.editedKeys.isEmpty else { return entries }
                try JSONEncoder().encode(entries.values).write(to: file, options: .atomic)
                return StorageEntries(entries.values)
            }
            edits.publish(.changed)
            return entries
        }

        func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
            do {
                return try JSONDecoder().decode([PropertyListValue].self, from: JSONEncoder().encode([value]))[0]
            } catch {
                throw .unencodable(key: key, reason: "\(error)")
            }
        }

        func watch(
            since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
        ) -> ObservationToken {
            let token = edits.subscribe { event in queue.async { report(event) } }
            queue.async { report(.changed) }
            return token
        }
    }
    // end

    @Test("Two stores on it store their values, and observe each other's")
    func stores() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.json")
        // snippet: WritingABackend
        let store = try ObservableStore(backend: JSONBackend(file))
        store[.volume] = 0.5
        try await store.flush()
        // end
        #expect(try JSONDecoder().decode([String: Double].self, from: Data(contentsOf: file)) == ["volume": 0.5])

        let backend = JSONBackend(file)
        let (one, two) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        #expect(one[.volume] == 0.5)
        var changes = two.changes(of: .volume).makeAsyncIterator()
        try await one.update { $0[.volume] = 0.25 }
        let change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.origin) == (0.5, 0.25, .external))
        for store in [store, one, two] { try await store.close() }
    }

    // snippet: WritingABackend
    @Test(arguments: BackendPromise.allCases)
    func promises(promise: BackendPromise) async throws {
        let folder = try TemporaryFolder()
        let backend = JSONBackend(folder.file("settings.json"))
        try await promise.check { backend }
    }
    // end

    @Test("A file that is not JSON cannot be opened, and the error names it")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.json")
        try Data("volume".utf8).write(to: file)
        let error = #expect(throws: StorageError.self) { try ObservableStore(backend: JSONBackend(file)) }
        #expect("\(try #require(error))".contains(file.path))
    }
}
