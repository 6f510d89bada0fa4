import Foundation
import ObservableStorage
import PropertyListCoding
import Synchronization
import TestSupport
import Testing

@Suite("A storage that two closures read and write", .timeLimit(.minutes(10)))
struct DictionaryBackendTests {
    /// A storage of one subscript.
    private final class Single: Sendable {
        private let state: Mutex<(entries: [String: PropertyListValue], written: [String])>

        init(_ entries: [String: PropertyListValue]) { state = Mutex((entries, [])) }

        var entries: [String: PropertyListValue] { state.withLock { $0.entries } }
        var written: [String] { state.withLock { $0.written } }

        subscript(name: String) -> PropertyListValue? {
            get { state.withLock { $0.entries[name] } }
            set {
                state.withLock {
                    $0.entries[name] = newValue
                    $0.written.append(name)
                }
            }
        }
    }

    private let storage = Single(["a": 1, "b": 2])

    private func makeBackend() -> DictionaryBackend {
        DictionaryBackend { [storage] in
            storage.entries
        } set: { [storage] entries in
            for name in entries.editedKeys { storage[name] = entries[name] }
        }
    }

    @Test("Edited entries are stored and removed, no others")
    func edits() async throws {
        let store = try ObservableStore(backend: makeBackend())
        #expect(store.entries == ["a": 1, "b": 2])
        try await store.update { transaction in
            transaction.set(3, forKey: "c")
            transaction.removeValue(forKey: "a")
        }
        #expect(storage.entries == ["b": 2, "c": 3])
        #expect(storage.written.sorted() == ["a", "c"])
        try await store.close()
    }

    @Test("Stores on one backend observe each other's edits, and lose none that are made at the same time")
    func severalStores() async throws {
        let backend = makeBackend()
        let stores = try (0..<4).map { _ in try ObservableStore(backend: backend) }
        let key = StorageKey("a", default: 0)
        await withThrowingTaskGroup { group in
            for store in stores {
                group.addTask { for _ in 0..<25 { try await store.update { $0[key] += 1 } } }
            }
        }
        #expect(storage["a"] == 101)
        for store in stores {
            for await value in store.values(of: key) where value == 101 { break }
            try await store.close()
        }
    }

    @Test("An edit inside another one is stored, and the outer one runs again on it")
    func nested() async throws {
        let backend = makeBackend()
        var runs = 0
        _ = try backend.edit { entries in
            runs += 1
            if runs == 1 { _ = try backend.edit { $0["a"] = 5 } }
            entries["b"] = entries["a"]
        }
        #expect(runs == 2)
        #expect(storage.entries == ["a": 5, "b": 5])
    }

    @Test("Changes by others are read after they are noted")
    func others() async throws {
        let backend = makeBackend()
        let store = try ObservableStore(backend: backend)
        var changes = store.changes(of: StorageKey("a", default: 0)).makeAsyncIterator()
        storage["a"] = 7
        backend.reportChanges()
        let change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.origin) == (1, 7, .external))
        try await store.close()
    }

    @Test("An error of a closure is thrown, and nothing is edited")
    func errors() async throws {
        let broken = StorageError.unwritable(file: "the safe", reason: "it is closed")
        let unreadable = DictionaryBackend(get: { throw broken }, set: { _ in })
        #expect(throws: broken) { try ObservableStore(backend: unreadable) }
        let unwritable = DictionaryBackend(get: { ["a": 1] }, set: { _ in throw CocoaError(.fileNoSuchFile) })
        let store = try ObservableStore(backend: unwritable)
        await #expect(throws: StorageError.self) { try await store.update { $0.set(2, forKey: "a") } }
        #expect(store.entries == ["a": 1])
        try await store.close()
    }
}
