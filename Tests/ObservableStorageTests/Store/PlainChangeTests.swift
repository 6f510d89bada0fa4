import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// One change of a key's value, or of what is around it.
private enum Step<Value: Sendable & Equatable>: Sendable {
    case set(Value)
    case remove
    case register(Value)
    /// Sets the value together with another entry.
    case edit(Value)
    case update(Value)
    /// Sets or removes the entry of a name, whatever the type of the key.
    case put(PropertyListValue?, String = "key")
    /// The same by another process.
    case foreign(PropertyListValue?, String = "key")

    func run(on stored: StoredValue<Value>, in backend: InMemoryBackend) async throws {
        let (store, key) = (stored.store, stored.key)
        switch self {
        case .set(let value): try stored.set(value)
        case .remove: stored.remove()
        case .register(let value): try store.register(value, for: key)
        case .edit(let value):
            try store.edit { transaction throws(StorageError) in
                try transaction.set(value, for: key)
                transaction[Keys.count] += 1
            }
        case .update(let value): try await store.update { try $0.set(value, for: key) }
        case .put(let value, let name): store[StorageKey<PropertyListValue?>(name)] = value
        case .foreign(let value, let name):
            _ = try backend.edit { $0[name] = value }
            try await store.reload()
        }
        // The next step finds this one in the storage.
        try await store.flush()
    }
}

/// What an observer of a key receives while steps are made.
private struct Heard<Element: Sendable & Equatable>: Equatable {
    var elements: [Element] = []
    var failures: [StorageError] = []
}

private struct Told<Value: Sendable & Equatable>: Equatable {
    let change: Change<Value>
    let isStored: Bool

    // The revisions of storages differ.
    init(_ told: Change<Value>) {
        change = Change(
            key: told.key, oldValue: told.oldValue, newValue: told.newValue, kind: told.kind, origin: told.origin, revision: told.revision,
            isSecret: told.isSecret)
        isStored = told.storageRevision != nil
    }
}

private struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let compareListeners: @Sendable () async throws -> Void
    let compareReaders: @Sendable () async throws -> Void

    init<Value>(
        _ name: String, _ key: StorageKey<Value>, stored entries: [String: PropertyListValue] = [:], isInScene: Bool = false,
        overrides: [OverrideSource] = [], _ steps: [Step<Value>]
    ) where Value: Sendable & Equatable {
        testDescription = name
        // With a migration, observing may run user code; here it never does.
        let general = key.migrating(from: UUID.self) { _ in
            Issue.record("migrated")
            return key.defaultValue
        }
        @Sendable func open(_ key: StorageKey<Value>) throws -> (StoredValue<Value>, InMemoryBackend, AsyncStream<StorageError>) {
            let backend = InMemoryBackend(entries)
            let store = try ObservableStore(backend: backend, overrides: overrides)
            return (isInScene ? SceneStore(sceneID: "one", base: store).stored(key) : store.stored(key), backend, store.failures)
        }
        @Sendable func listen(_ key: StorageKey<Value>) async throws -> Heard<Told<Value>> {
            let (stored, backend, failures) = try open(key)
            let changes = Recorder<Told<Value>>()
            let token = stored.addUpdateListener(initial: true) { changes.record(Told($0)) }
            for step in steps { try await step.run(on: stored, in: backend) }
            try await stored.store.close()
            withExtendedLifetime(token) {}
            return await Heard(elements: changes.elements, failures: Array(failures))
        }
        @Sendable func read(_ key: StorageKey<Value>) async throws -> Heard<Value> {
            let (stored, backend, failures) = try open(key)
            var values: [Value] = []
            for step in steps {
                let stream = stored.values
                try await step.run(on: stored, in: backend)
                for await value in stream {
                    values.append(value)
                    break
                }
            }
            try await stored.store.close()
            return await Heard(elements: values, failures: Array(failures))
        }
        compareListeners = {
            let (heard, expected) = (try await listen(key), try await listen(general))
            #expect(heard == expected)
            #expect(!heard.elements.isEmpty)
        }
        compareReaders = {
            let (heard, expected) = (try await read(key), try await read(general))
            #expect(heard == expected)
            #expect(heard.elements.count == steps.count)
        }
    }

    static let number = StorageKey("key", default: 0)
    // In no other test, because its name is secret from then on.
    static let secretName = "PlainChangeTests.secret"

    static let all = numbers + names + types

    private static let numbers: [Case] = [
        Case("set", number, [.set(1), .set(2), .set(0), .set(1)]),
        Case("the same value", number, stored: ["key": 5], [.set(5), .set(6), .set(6)]),
        Case("removed", number, stored: ["key": 5], [.remove, .remove, .set(1), .remove, .set(0)]),
        Case("registered", number, [.register(7), .set(7), .set(8), .remove, .register(9), .set(1)]),
        Case("in transactions", number, [.edit(1), .edit(1), .update(2), .put("text"), .update(3), .edit(0)]),
        Case("another process", number, stored: ["key": 5], [.foreign(6), .set(7), .foreign(7), .foreign(nil), .set(1)]),
        Case("invalid", number, stored: ["key": "text"], [.set(1), .put("text"), .put("other"), .set(2), .put("text"), .remove, .set(3)]),
        Case(
            "invalid from another process", number,
            [.foreign("text"), .foreign(1), .foreign("text"), .set(2), .foreign("other"), .set(3), .foreign(nil)]),
    ]

    private static let names: [Case] = [
        Case(
            "earlier name", number.renamed(from: "old"), stored: ["old": 5],
            [.set(6), .remove, .put(7, "old"), .set(8), .put(9, "old"), .foreign(nil), .foreign("text", "old"), .set(1)]),
        Case(
            "kept earlier name", number.renamed(from: "old", keepingOld: true), stored: ["old": 5],
            [.set(6), .put(7, "old"), .set(8), .remove, .set(0)]),
        Case(
            "nested", StorageKey("key", "a", "b", default: 0), stored: ["key": ["a": ["b": 5, "c": 1]]],
            [.set(6), .put(["a": ["b": 6, "c": 2]]), .put(["a": ["c": 2]]), .set(1), .put("text"), .foreign(["a": ["b": 3]]), .remove]),
        Case(
            "secret", StorageKey(secretName, default: 0).secret(),
            [.set(1), .set(3), .put("text", secretName), .set(2), .foreign("text", secretName), .remove]),
        Case(
            "scene", StorageKey<Int?>("key", default: 3), stored: ["key": 5], isInScene: true,
            [.set(6), .put(7), .set(nil), .put("text", "scenes/one/key"), .set(8), .remove, .put("text"), .foreign(9), .put(nil)]),
        Case("overridden", number, stored: ["key": 5], overrides: [.texts(["key": "9"])], [.set(6), .put("text"), .remove]),
    ]

    private static let types: [Case] = [
        Case(
            "optional number", StorageKey<Int?>("key"),
            [.set(1), .set(5), .set(nil), .set(2), .remove, .put("text"), .set(nil), .foreign(3)]),
        Case("optional text", StorageKey<String?>("key"), [.set("a"), .set("c"), .set(nil), .put(1), .set("b"), .foreign(nil), .set("")]),
        Case("real number", StorageKey("key", default: 1.5), [.set(2), .set(4), .put(2), .put(true), .set(3), .put("text"), .set(1.5)]),
        Case("narrow number", StorageKey<UInt32>("key", default: 1), [.put(-1), .set(7), .set(9), .put(5_000_000_000), .set(8)]),
        Case("truth", StorageKey("key", default: true), [.set(false), .set(true), .put(1), .set(true), .remove]),
        Case("data", StorageKey("key", default: Data()), [.set(Data([1])), .set(Data()), .put("text"), .set(Data([2]))]),
        Case("date", StorageKey<Date?>("key"), [.set(Date(timeIntervalSinceReferenceDate: 0.5)), .put(1), .set(nil)]),
        Case("address", StorageKey<URL?>("key"), [.set(URL(string: "https://a.b")), .put("text"), .put(1), .set(nil)]),
        Case("any value", StorageKey<PropertyListValue?>("key"), [.set("text"), .set(1), .set(["a": 1]), .set(nil), .foreign(2)]),
    ]
}

extension Array {
    fileprivate init(_ stream: AsyncStream<Element>) async where Element: Sendable {
        self = await stream.reduce(into: []) { $0.append($1) }
    }
}

/// Changes of keys that need no user code are told without the rules for other keys, where the result is the same.
@Suite("Plain changes", .timeLimit(.minutes(10)))
struct PlainChangeTests {
    @Test("A listener receives the same changes as one of a key that may run user code", arguments: Case.all)
    private func listeners(of kind: Case) async throws {
        try await kind.compareListeners()
    }

    @Test("A reader receives the same values as one of a key that may run user code", arguments: Case.all)
    private func readers(of kind: Case) async throws {
        try await kind.compareReaders()
    }
}
