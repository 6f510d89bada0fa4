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

    /// A source in which the names that begin with "forced" are forced.
    private func source(_ objects: [String: Any]) -> DefaultsSource {
        DefaultsSource(names: { Array(objects.keys) }, isForced: { $0.hasPrefix("forced") }, object: { objects[$0] })
    }

    @Test("Exactly the forced entries are in the layer, with their types; one that has just been removed is not")
    func filter() throws {
        let source = DefaultsSource(
            names: { ["forced 1", "own", "forced gone"] }, isForced: { $0.hasPrefix("forced") },
            object: { ["forced 1": true, "own": 2][$0] })
        #expect(try source.forcedValues(of: "file") == ["forced 1": true])
        #expect(try self.source([:]).forcedValues(of: "file").isEmpty)
    }

    @Test("A forced object that is no property list is an error that names it")
    func foreign() throws {
        let error = #expect(throws: StorageError.self) { try source(["forced": UUID()]).forcedValues(of: "file") }
        guard case .unreadable(file: "file", let reason, _)? = error else {
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
        let forced = Forced()
        let managed = ManagedUserDefaults(of: backend, source: forced.source)
        let store = try ObservableStore(backend: backend, defaults: [], mandatory: [managed])
        #expect(store[Self.volume] == 9)
        #expect(store.stored(Self.volume).isMandatory)
        #expect(store.stored(Self.volume).source == .mandatory(file: "managed UserDefaults \(domain.name)"))
        #expect(!store.stored(Self.speed).isMandatory)
        #expect(throws: StorageError.mandatory(key: "volume")) { try store.set(3, for: Self.volume) }
        var values = store.values(of: Self.volume).makeAsyncIterator()
        #expect(await values.next() == 9)
        forced.values.withLock { $0 = [:] }
        NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: nil)
        #expect(await values.next() == 5)
        try await store.close()
    }

    /// The entries that an administrator currently enforces.
    private final class Forced: Sendable {
        let values = Lock<[String: Int]>(["volume": 9])

        var source: DefaultsSource {
            DefaultsSource(
                names: { self.values.withLock { Array($0.keys) } }, isForced: { name in self.values.withLock { $0[name] != nil } },
                object: { name in self.values.withLock { $0[name] } })
        }
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
