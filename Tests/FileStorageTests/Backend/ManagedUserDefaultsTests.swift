import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import UserDefaultsStorage

/// Entries of user defaults that an administrator enforces.
@Suite("User defaults: managed entries", .timeLimit(.minutes(10)))
struct ManagedUserDefaultsTests {
    private let domain = TemporaryDomain()
    private static let volume = StorageKey<Int>("volume", default: 1)
    private static let speed = StorageKey<Int>("speed", default: 1)

    @Test("The layer has the forced entries with their types; one that is no property list is an error that names it")
    func types() throws {
        let backend = try domain.makeBackend()
        #expect(try ManagedUserDefaults(of: backend, objects: { ["a": true, "b": 1] }).load().values == ["a": true, "b": 1])
        let managed = ManagedUserDefaults(of: backend, objects: { ["a": 1, "forced": UUID()] })
        let error = #expect(throws: StorageError.self) { try managed.load() }
        guard case .unreadable(file: managed.name, let reason, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("\"forced\""))
    }

    @Test("A store with a managed layer has the forced value, rejects others, and follows the administrator")
    func store() async throws {
        let backend = try domain.makeBackend()
        _ = try backend.edit { entries in
            entries["volume"] = 5
            entries["speed"] = 6
        }
        let forced = Lock<[String: Int]>(["volume": 9])
        let managed = ManagedUserDefaults(of: backend, objects: { forced.withLock { $0 } })
        let store = try ObservableStore(backend: backend, defaults: [], mandatory: [managed])
        #expect(store[Self.volume] == 9)
        #expect(store.stored(Self.volume).isMandatory)
        #expect(store.stored(Self.volume).source == .mandatory(file: "managed UserDefaults \(domain.name)"))
        #expect(!store.stored(Self.speed).isMandatory)
        #expect(throws: StorageError.mandatory(key: "volume")) { try store.set(3, for: Self.volume) }
        var values = store.values(of: Self.volume).makeAsyncIterator()
        #expect(await values.next() == 9)
        forced.withLock { $0 = [:] }
        NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: nil)
        #expect(await values.next() == 5)
        try await store.close()
    }

    @Test("The layer cannot be edited")
    func edit() throws {
        let managed = ManagedUserDefaults(of: try domain.makeBackend())
        #expect(throws: StorageError.self) { try managed.edit { $0["volume"] = 1 } }
        #expect(try managed.load().values.isEmpty)
    }

    @Test("A suite is opened by its name, and nothing is mandatory where nothing is managed")
    func open() async throws {
        let store = try ObservableStore(userDefaultsSuite: domain.name)
        try store.set(3, for: Self.volume)
        try await store.flush()
        #expect(try domain.defaults.integer(forKey: "volume") == 3)
        #expect(!store.stored(Self.volume).isMandatory)
        try await store.close()
    }
}
