import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A stored value that is not of a key's type is handled in one way, wherever it is read.
@Suite("Bad values", .timeLimit(.minutes(10)))
struct BadValueTests {
    private static let level = StorageKey("level", default: 1)

    private struct Group: KeyGroup {
        let level = StorageKey("level", default: 1)
        let list = StorageKey<[String]>("list", default: [])
    }

    private final class Holder {
        @Persisted var level: Int

        init(_ store: ObservableStore) {
            _level = Persisted(BadValueTests.level, in: store)
        }
    }

    private final class Owner: SceneStoring {
        let sceneID: String? = "one"
        let applicationStore: ObservableStore
        @SceneStored(BadValueTests.level) var level

        init(_ store: ObservableStore) {
            applicationStore = store
        }
    }

    private func isUndecodable(_ error: StorageError?) -> Bool {
        if case .undecodable? = error { true } else { false }
    }

    @Test("The error that user code has thrown is part of the error about the key")
    func underlying() throws {
        struct Refusal: Error, Equatable { let number: Int }
        let codec = StorageCodec<Int>.custom(encode: { throw Refusal(number: $0) }, decode: { _ in throw Refusal(number: 1) })
        let store = try Fixture.memory.make(["k": "text"]).open()
        let decoding = #expect(throws: StorageError.self) { try store.value(for: StorageKey("k", codec: codec, default: 0)) }
        guard case .undecodable(key: "k", expected: "Int", _, let underlying?)? = decoding else {
            Issue.record("\(String(describing: decoding))")
            return
        }
        #expect(underlying.error as? Refusal == Refusal(number: 1))
        let encoding = #expect(throws: StorageError.self) { try store.set(2, for: StorageKey("k", codec: codec.optional(), default: nil)) }
        guard case .unencodable(key: "k", _, let underlying?)? = encoding else {
            Issue.record("\(String(describing: encoding))")
            return
        }
        #expect(underlying.error as? Refusal == Refusal(number: 2))
        // The library's own refusals have none.
        let own = #expect(throws: StorageError.self) { try store.value(for: StorageKey("k", default: 0)) }
        #expect(own == .undecodable(key: "k", expected: "Int", found: "string"))
        #expect(throws: Refusal(number: 3)) { try codec.encode(3) }
    }

    @Test("A value that can be decoded later is decoded by value(for:), by modifications and by new observers", arguments: [0, 1, 2])
    func decodableLater(way: Int) async throws {
        struct Locked: Error {}
        let isLocked = Lock(true)
        let codec = StorageCodec<Int>.custom(encode: { .string("\($0)") }) { stored in
            guard !isLocked.withLock({ $0 }), let value = stored.string.flatMap({ Int($0) }) else { throw Locked() }
            return value
        }
        let key = StorageKey("secret", codec: codec, default: 0)
        let store = try Fixture.memory.make(["secret": "7"]).open()
        for _ in 0..<2 {
            #expect(throws: StorageError.self) { try store.value(for: key) }
            #expect(store[key] == 0)
        }
        isLocked.withLock { $0 = false }
        switch way {
        case 0: #expect(try store.value(for: key) == 7)
        case 1:
            store[key] += 1
            #expect(store[key] == 8)
        default: #expect(await store.values(of: key).first { _ in true } == 7)
        }
        #expect(try store.value(for: key) == (way == 1 ? 8 : 7))
        #expect(store[key] == (way == 1 ? 8 : 7))
    }

    @Test("Readers keep the last valid value, value(for:) throws the error, and it is reported once", arguments: Fixture.allCases)
    func rule(fixture: Fixture) async throws {
        let storage = try fixture.make(["level": 5])
        let store = try storage.open()
        let failures = store.failures
        let settings = KeyedStore<Group>(store)
        var values = store.values(of: Self.level).makeAsyncIterator()
        let changes = store.changes(of: Self.level)
        let heard = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Self.level) { heard.record($0) }
        #expect(await values.next() == 5)
        _ = try storage.edit { $0["level"] = "high" }
        let change = try #require(await changes.first { _ in true })
        #expect(change.newValue == 5)
        #expect(change.oldValue == 5)
        guard case .undecodable(let error) = change.kind else {
            Issue.record("\(change)")
            return
        }
        for _ in 0..<2 {
            #expect(store[Self.level] == 5)
            #expect(settings.level == 5)
            #expect(Holder(store).level == 5)
            #expect(store.stored(Self.level).value == 5)
            #expect(throws: error) { try store.value(for: Self.level) }
            #expect(throws: error) { try settings.stored(\.level).get() }
        }
        let transactional = try await store.update { $0[Self.level] }
        #expect(transactional == 5)
        _ = try storage.edit { $0["level"] = 6 }
        #expect(await values.next() == 6)
        _ = try await heard.elements(count: 2)
        #expect(heard.elements.map(\.newValue) == [5, 6])
        try await store.close()
        let reported = await failures.reduce(into: []) { $0.append($1) }
        #expect(reported == [error])
        withExtendedLifetime(token) {}
    }

    @Test("A value that the store had loaded is used although it was never read", arguments: Fixture.quick)
    func unread(fixture: Fixture) async throws {
        let storage = try fixture.make(["level": 5])
        let store = try storage.open()
        var changes = store.allChanges().makeAsyncIterator()
        for bad in ["high", "higher"] {
            _ = try storage.edit { $0["level"] = .string(bad) }
            _ = await changes.next()
        }
        #expect(store[Self.level] == 5)
        #expect(store[StorageKey("level", default: 1)] == 5)
    }

    @Test("Without a valid value, or after the entry was removed, the default is used, also for an observer's first value")
    func noGoodValue() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": "high"]))
        #expect(store[Self.level] == 1)
        var values = store.values(of: Self.level).makeAsyncIterator()
        #expect(await values.next() == 1)
        store[Self.level] = 2
        #expect(await values.next() == 2)
        store.remove(Self.level)
        store[StorageKey<String?>("level")] = "low"
        #expect(store[Self.level] == 1)
    }

    @Test("After several invalid values the last valid one is used, each is reported, and so is one of the same name in a scene")
    func severalBadValues() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 5]))
        let scene = SceneStore(sceneID: "one", base: store)
        let raw = StorageKey<String?>("level")
        let heard = Recorder<Change<Int>>()
        let token = scene.stored(Self.level).addUpdateListener { heard.record($0) }
        #expect(store[Self.level] == 5)
        store[raw] = "high"
        store[raw] = "higher"
        #expect(store[Self.level] == 5)
        #expect(scene[Self.level] == 5)
        scene[raw] = "low"
        #expect(scene[Self.level] == 5)
        scene[Self.level] = 7
        #expect(scene[Self.level] == 7)
        scene[raw] = "lower"
        #expect(scene[Self.level] == 7)
        #expect(heard.elements.map(\.newValue) == [5, 5, 5, 7, 7])
        let failures = store.failures
        try await store.close()
        let reported = await failures.reduce(into: []) { $0.append($1) }
        #expect(reported.count == 4)
        #expect(reported.allSatisfy(isUndecodable))
        withExtendedLifetime(token) {}
    }

    @Test(
        "The value set last is used, read or not, after any number of invalid values, also by scenes that inherit it",
        arguments: [false, true])
    func setUnread(isScene: Bool) async throws {
        let storage = try Fixture.memory.make(["level": 5])
        let store = try storage.open()
        let key = isScene ? Self.level.scoped(to: SceneStore(sceneID: "one", base: store).scope) : Self.level
        #expect(store[key] == 5)
        var changes = store.allChanges().makeAsyncIterator()
        _ = try storage.edit { $0["level"] = "low" }
        _ = await changes.next()
        store[Self.level] = 7
        _ = await changes.next()
        try await store.flush()
        for bad in ["high", "higher", "highest"] {
            _ = try storage.edit { $0["level"] = .string(bad) }
            _ = await changes.next()
        }
        #expect(store[key] == 7)
    }

    @Test("A last valid value read in place of an invalid one survives further invalid ones, with a listener too")
    func readInPlace() async throws {
        let codec = StorageCodec<Int>.custom(
            encode: { .integer(PropertyListInteger(Int64($0))) }, decode: { try Int(propertyListValue: $0) })
        let key = StorageKey("level", codec: codec, default: 0)
        let store = try ObservableStore(backend: InMemoryBackend(["level": 5]))
        let raw = StorageKey<PropertyListValue?>("level")
        #expect(store[key] == 5)
        store[raw] = 7
        store[raw] = "high"
        #expect(store[key] == 7)
        store[raw] = "higher"
        store[raw] = "highest"
        #expect(store[key] == 7)
        store[raw] = 8
        let token = store.addUpdateListener(for: key) { _ in }
        for bad in ["low", "lower", "lowest"] { store[raw] = .string(bad) }
        #expect(store[key] == 8)
        withExtendedLifetime(token) {}
    }

    @Test("A snapshot in which an invalid value is read later does not bring back the valid one of its time", arguments: [false, true])
    func oldSnapshot(isMandatory: Bool) throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        func set(_ value: PropertyListValue) {
            let deliveries =
                isMandatory
                ? store.cache.changeLayers(mandatory: ["level": value], defaults: [:])
                : store.cache.change { $0.merge(["level": value], origin: .external) }.deliveries
            store.cache.deliver(deliveries)
        }
        set(5)
        set("high")
        let snapshot = store.snapshot
        set(6)
        set("high")
        #expect(snapshot[Self.level] == 5)
        set("higher")
        #expect(store[Self.level] == 6)
    }

    @Test("An older dictionary that is used in place of an invalid one does not bring back the values in it")
    func olderAround() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["level": 1, "other": 1]]))
        let whole = StorageKey<[String: Int]>("d", default: [:])
        func level() -> Int { store[StorageKey("d", "level", default: 0)] }
        func set(_ level: PropertyListValue) {
            store.cache.deliver(
                store.cache.change { $0.merge(["d": ["level": level, "other": "text"]], origin: .external) }.deliveries)
        }
        #expect(store[whole] == ["level": 1, "other": 1])
        for value in [2, 3, "low"] as [PropertyListValue] {
            set(value)
            #expect(level() == (value == 2 ? 2 : 3))
        }
        #expect(store[whole] == ["level": 1, "other": 1])
        #expect(level() == 3)
    }

    @Test("A reader with another type does not release the last valid value")
    func otherTypes() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 5]))
        #expect(store[Self.level] == 5)
        store[StorageKey<String?>("level")] = "high"
        #expect(store[StorageKey("level", default: "")] == "high")
        #expect(store.value(String.self, forKey: "level") == "high")
        #expect(store.value(Int.self, forKey: "level") == nil)
        #expect(store[StorageKey("level", default: 1)] == 5)
    }

    @Test("A value that its own codec cannot decode leaves the previous one in effect")
    func validation() throws {
        let percent = StorageKey(
            "percent",
            codec: .custom(
                encode: { .integer(PropertyListInteger(Int64($0))) },
                decode: { stored in
                    let value = try Int(propertyListValue: stored)
                    guard (0...100).contains(value) else { throw StorageError.closed }
                    return value
                }), default: 0)
        let store = try ObservableStore(backend: InMemoryBackend())
        store[percent] = 50
        store[percent] = 500
        #expect(store[percent] == 50)
        #expect(throws: StorageError.self) { try store.value(for: percent) }
        #expect(store.entries == ["percent": 500])
    }

    private static let modifications: [@Sendable (ObservableStore) -> Void] = [
        { $0[level] += 1 },
        { KeyedStore<Group>($0).level += 1 },
        { $0.stored(level).value += 1 },
        { Holder($0).level += 1 },
        { store in
            func modify(_ values: some KeyValueAccess) { values[level] += 1 }
            modify(store)
        },
    ]

    @Test(
        "A modification in place of an invalid value is reported and stores nothing; an assignment replaces it",
        arguments: modifications.indices
    )
    func modification(index: Int) async throws {
        let storage = try Fixture.memory.make(["level": "high"])
        let store = try storage.open()
        let failures = store.failures
        Self.modifications[index](store)
        #expect(store.entries == ["level": "high"])
        Self.modifications[index](store)
        #expect(store.entries == ["level": "high"])
        #expect(store.revision == 0)
        store[Self.level] = 3
        Self.modifications[index](store)
        #expect(store.entries == ["level": 4])
        try await store.close()
        let reported = await failures.reduce(into: []) { $0.append($1) }
        #expect(reported.count == 2)
        #expect(reported.allSatisfy(isUndecodable))
    }

    @Test("Assigning through any property replaces an invalid value")
    func assignment() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": "high", "scenes/one/level": "low"]))
        let raw = StorageKey<String?>("level")
        KeyedStore<Group>(store).level = 2
        #expect(store.entries["level"] == 2)
        store[raw] = "high"
        Holder(store).level = 3
        #expect(store.entries["level"] == 3)
        store[raw] = "high"
        store.stored(Self.level).value = 4
        #expect(store.entries["level"] == 4)
        Owner(store).level = 5
        #expect(store.entries["scenes/one/level"] == 5)
    }

    @Test("In a scene, too, a modification in place of an invalid value stores nothing")
    func sceneModification() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["scenes/one/level": "low"]))
        SceneStore(sceneID: "one", base: store)[Self.level] += 1
        Owner(store).level += 1
        #expect(store.entries == ["scenes/one/level": "low"])
        SceneStore(sceneID: "one", base: store)[Self.level] = 4
        Owner(store).level += 1
        #expect(store.entries == ["scenes/one/level": 5])
    }

    @Test("modify throws the error of an invalid value, and does not call its closure")
    func modify() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": "high"]))
        #expect(throws: StorageError.self) { try store.stored(Self.level).modify { _ in Issue.record("called") } }
        #expect(throws: StorageError.self) { try store.stored(Self.level).modify { $0 += 1 } }
        #expect(store.entries == ["level": "high"])
    }

    @Test("A transaction that modifies an invalid value fails as a whole; one that assigns does not", arguments: Fixture.allCases)
    func transaction(fixture: Fixture) async throws {
        let storage = try fixture.make(["level": "high"])
        let store = try storage.open()
        let error = await #expect(throws: StorageError.self) {
            try await store.update { transaction in
                transaction[Keys.count] = 1
                transaction[Self.level] += 1
            }
        }
        #expect(isUndecodable(error))
        let keyed = await #expect(throws: StorageError.self) { try await KeyedStore<Group>(store).update { $0.level += 1 } }
        #expect(isUndecodable(keyed))
        #expect(try storage.entries == ["level": "high"])
        try await store.update { $0[Self.level] = 2 }
        try await store.update { $0[Self.level] += 1 }
        #expect(try storage.entries == ["level": 3])
    }

    @Test("A modification in place stores its result even if it throws halfway, as with a plain variable")
    func throwingModification() throws {
        func fail(_ list: inout [String]) throws(StorageError) {
            list.append("a")
            throw .closed
        }
        let store = try ObservableStore(backend: InMemoryBackend())
        #expect(throws: StorageError.closed) { try fail(&store[Group().list]) }
        #expect(store[Group().list] == ["a"])
        KeyedStore<Group>(store).list.append("b")
        #expect(store[Group().list] == ["a", "b"])
    }

    @Test("A value that is told late does not make the one valid that is in effect then, under another name")
    func toldLate() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 1, "old": 3]))
        let level = StorageKey("level", default: 0).renamed(from: "old")
        let old = StorageKey("old", default: 0)
        func merge(_ edits: EntryEdits) -> Deliveries {
            store.cache.change { $0.merge(edits, origin: .external) }.deliveries
        }
        #expect(store[old] == 3)
        let told = Recorder<Int>()
        let token = store.addUpdateListener(for: level) { told.record($0.newValue) }
        store.cache.deliver(merge(["old": "bad"]))
        let changes = [merge(["level": 5]), merge(["level": nil])]
        for change in changes { store.cache.deliver(change) }
        #expect((store[old], store[level]) == (3, 3))
        #expect(try await told.elements(count: 2) == [5, 3])
        withExtendedLifetime(token) {}
    }

    @Test("An invalid value under the present name is told as it is read, whatever the earlier name had")
    func invalidUnderPresentName() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["old": 17]))
        let level = StorageKey("level", default: 0).renamed(from: "old")
        let told = Recorder<Int>()
        let token = store.addUpdateListener(for: level) { told.record($0.newValue) }
        #expect(store[level] == 17)
        store.cache.deliver(store.cache.change { $0.merge(["level": "bad"], origin: .external) }.deliveries)
        #expect(try await told.elements(count: 1) == [store[level]])
        withExtendedLifetime(token) {}
    }

    @Test("The last valid value is released after a newer one was decoded, and with its entry")
    func release() throws {
        var table = EntryTable(["level": 5], store: 1)
        let entry = table.ensureEntry("level")
        func replace(_ value: PropertyListValue?, _ revision: UInt64) {
            _ = table.exchange("level", value, edit: 0, revision: revision)
        }
        let type = ObjectIdentifier(Int.self)
        let name = EntryName(own: "level")
        replace("high", 1)
        replace("higher", 2)
        #expect(entry.content.history.earlier(name) == ["high", 5])
        replace(6, 3)
        #expect(entry.content.history.markValid(6, of: name, as: type) == ["higher", 5])
        #expect(entry.content.history.isEmpty)
        replace("low", 4)
        #expect(entry.content.history.earlier(name) == [6])
        replace(nil, 5)
        #expect(entry.content.history.isEmpty)
    }
}
