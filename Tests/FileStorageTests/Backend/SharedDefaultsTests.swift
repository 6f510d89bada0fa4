import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import UserDefaultsStorage

/// The observation of a domain by name, with observers that a test triggers in place of key-value observing.
@Suite("User defaults: shared instances", .timeLimit(.minutes(10)))
struct SharedDefaultsTests {
    /// Adds and removes observers as strictly as key-value observing does.
    private final class FakeObservers: Sendable {
        let log = Recorder<String>()
        private let report: @Sendable () -> Void
        private let names = Lock<Set<String>>([])

        init(_ report: @escaping @Sendable () -> Void) {
            self.report = report
        }

        func perform(_ actions: DefaultsObservation.Actions) {
            for name in actions.removed {
                let isKnown = names.withLock { $0.remove(name) != nil }
                log.record(isKnown ? "-\(name)" : "never added: \(name)")
            }
            for name in actions.added {
                let isNew = names.withLock { $0.insert(name).inserted }
                log.record(isNew ? "+\(name)" : "added twice: \(name)")
            }
        }

        /// Reports a change of an entry, if it is observed.
        func change(_ name: String) {
            if names.withLock({ $0.contains(name) }) { report() }
        }
    }

    private let domain = TemporaryDomain()
    private let shared: SharedDefaults
    private let backend: UserDefaultsBackend
    private let observers: FakeObservers
    /// Another writer, whose changes are not reported here.
    private let other: UserDefaults

    init() throws {
        other = try domain.defaults
        var created: FakeObservers?
        shared = SharedDefaults(try domain.defaults) { report in
            let observers = FakeObservers(report)
            created = observers
            return { observers.perform($0) }
        }
        observers = try #require(created)
        backend = UserDefaultsBackend(shared.defaults, domain: domain.name, shared: shared)
    }

    @Test("Stored names are observed when the domain is read while it is watched, and released at the end of the watch")
    func stored() async throws {
        other.set(1, forKey: "b")
        other.set(1, forKey: "a")
        other.set(1, forKey: "dotted.name")
        let token = backend.watch(since: nil, on: DispatchQueue(label: "test")) { _ in }
        _ = try backend.load()
        #expect(try await observers.log.elements(count: 2) == ["+a", "+b"])
        _ = try backend.edit { entries in
            entries["a"] = nil
            entries["c"] = 1
        }
        #expect(try await observers.log.elements(count: 4) == ["+a", "+b", "-a", "+c"])
        token.cancel()
        #expect(try await observers.log.elements(count: 6) == ["+a", "+b", "-a", "+c", "-b", "-c"])
    }

    @Test("A change of an observed name, and the beginning of its observation, are reported to every watch until its end")
    func reports() async throws {
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let token = shared.watch { first.record(1) }
        let ended = shared.watch { second.record(1) }
        observers.change("volume")
        for name in ["volume", "dotted.name"] { shared.addUsed(name) }
        #expect(try await first.elements(count: 1).count == 1)
        #expect(try await second.elements(count: 1).count == 1)
        ended.cancel()
        observers.change("volume")
        observers.change("dotted.name")
        #expect(first.elements.count == 2)
        #expect(second.elements.count == 1)
        token.cancel()
        #expect(try await observers.log.elements(count: 2) == ["+volume", "-volume"])
    }

    @Test("A store learns of another process's value of a key that it has read, although none was stored")
    func unsetKey() async throws {
        let store = try ObservableStore(backend: backend)
        let key = StorageKey<Int>("volume", default: 0)
        #expect(store[key] == 0)
        #expect(try await observers.log.elements(count: 1) == ["+volume"])
        var values = store.values(of: key).makeAsyncIterator()
        #expect(await values.next() == 0)
        other.set(7, forKey: "volume")
        observers.change("volume")
        #expect(await values.next() == 7)
        try await store.close()
        #expect(try await observers.log.elements(count: 2) == ["+volume", "-volume"])
    }

    @Test("A key that a store has read is observed when its watch begins, although that of another store has ended meanwhile")
    func successor() async throws {
        let token = backend.watch(since: nil, on: DispatchQueue(label: "test")) { _ in }
        // As a store has it.
        let use = try #require(backend.onUse)
        use("volume")
        #expect(try await observers.log.elements(count: 1) == ["+volume"])
        token.cancel()
        #expect(try await observers.log.elements(count: 2) == ["+volume", "-volume"])
        let next = backend.watch(since: nil, on: DispatchQueue(label: "test")) { _ in }
        use("title")
        #expect(try await observers.log.elements(count: 4) == ["+volume", "-volume", "+volume", "+title"])
        next.cancel()
    }

    @Test("A name that cannot be observed is compared when the application becomes active", arguments: UserDefaultsBackend.activations)
    func activation(name: Notification.Name) async throws {
        let store = try ObservableStore(backend: backend)
        let key = StorageKey<Int>("dotted.volume", default: 0)
        var values = store.values(of: key).makeAsyncIterator()
        #expect(await values.next() == 0)
        other.set(7, forKey: "dotted.volume")
        NotificationCenter.default.post(name: name, object: nil)
        #expect(await values.next() == 7)
        try await store.close()
        #expect(observers.log.elements.isEmpty)
    }

    @Test("There is one instance of user defaults for a suite in the process")
    func oneInstance() throws {
        let name = "ObservableStorage-\(UUID().uuidString)"
        let backends = try (0..<2).map { _ in try #require(UserDefaultsBackend(suiteName: name)) }
        #expect(backends[0].defaults === backends[1].defaults)
        let given = try domain.defaults
        #expect(UserDefaultsBackend(given, domain: domain.name).defaults === given)
        #expect(try domain.makeBackend().defaults === given)
    }

    @Test("Backends created at the same time share one instance")
    func concurrently() async throws {
        let name = domain.name
        let instances = await withTaskGroup(of: ObjectIdentifier?.self) { group in
            for _ in 0..<20 { group.addTask { UserDefaultsBackend(suiteName: name).map { ObjectIdentifier($0.defaults) } } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(instances.count == 1)
    }
}
