import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Values inside large dictionaries", .timeLimit(.minutes(10)))
struct LargeDictionaryTests {
    private static let numbers = (0..<2_000).reduce(into: [String: PropertyListValue]()) {
        $0["k\($1)"] = .integer(PropertyListInteger(Int64($1)))
    }
    private let whole = StorageKey<[String: Int]>("d", default: [:])

    private func key(_ number: Int) -> StorageKey<Int> {
        StorageKey("d", "k\(number)", default: 0)
    }

    /// How the keys of values inside a dictionary are declared, of which each edit may concern several entries.
    enum Declaration: CaseIterable, Sendable {
        case plain, renamed, keepingOld, writingThrough

        func key(_ key: StorageKey<Int>, in store: ObservableStore) -> StorageKey<Int> {
            switch self {
            case .plain: key
            case .renamed: key.renamed(from: "old").renamed(from: "older")
            case .keepingOld: key.renamed(from: "old", keepingOld: true)
            case .writingThrough: SceneStore(sceneID: "one", base: store, writesThrough: true).stored(key.renamed(from: "old")).key
            }
        }
    }

    /// Identifies the memory of a dictionary in a store: an edit that copies it has allocated another one before it releases this one.
    private func memory(of path: String..., in store: ObservableStore) throws -> UInt {
        try #require(
            store.cache.update { state in
                path.dropFirst().reduce(state.entries[path[0]]) { $0?[$1] }?.dictionary.map { unsafeBitCast($0, to: UInt.self) }
            })
    }

    @Test("A value is set, modified and removed without copying the others", arguments: Fixture.quick, [Declaration.plain, .renamed])
    func inPlace(fixture: Fixture, declaration: Declaration) async throws {
        let store = try fixture.make(["d": .dictionary(Self.numbers)]).open()
        // A write has the values, too.
        await store.suspend()
        let heard = Recorder<Int>()
        let token = store.addUpdateListener(for: key(1)) { heard.record($0.newValue) }
        // The storage has the dictionary that was read.
        store[key(0)] = -1
        let memory = try memory(of: "d", in: store)
        func check(_ edit: () throws -> Void) throws {
            try edit()
            #expect(try self.memory(of: "d", in: store) == memory)
        }
        for number in 0..<4 {
            let key = declaration.key(key(number), in: store)
            try check { store[key] = -2 }
            try check { store[key] += 1 }
            try check { try store.stored(key).modify { $0 -= 1 } }
            try check { store.remove(key) }
            #expect(store[key] == 0)
            try check { store[key] = number + 1 }
        }
        #expect(heard.elements == [-2, -1, -2, 0, 2])
        // The values of a snapshot are copied once.
        let snapshot = store.snapshot
        store[key(5)] = -5
        let copy = try self.memory(of: "d", in: store)
        #expect(copy != memory)
        store[key(6)] = -6
        #expect(try self.memory(of: "d", in: store) == copy)
        #expect(snapshot[key(5)] == 5 && snapshot[key(6)] == 6)
        #expect(store[whole].filter { $0.value < 0 } == ["k5": -5, "k6": -6])
        store.resume()
        try await store.flush()
        withExtendedLifetime(token) {}
    }

    @Test(
        "In a transaction, values are set, modified and removed without copying the others for each", arguments: Fixture.quick,
        Declaration.allCases)
    func inTransaction(fixture: Fixture, declaration: Declaration) async throws {
        let own = declaration == .writingThrough ? "scenes/one/d" : "d"
        let entries = ["d", own].reduce(into: [:]) { $0[$1] = PropertyListValue.dictionary(Self.numbers) }
        let storage = try fixture.make(entries)
        let store = try storage.open()
        @Sendable func key(_ number: Int) -> StorageKey<Int> { declaration.key(self.key(number), in: store) }
        @Sendable func makeEdits(in transaction: StoreTransaction, _ value: Int) {
            func memory() -> [UInt?] {
                ["d", own].map { transaction[StorageKey<PropertyListValue?>($0)]?.dictionary.map { unsafeBitCast($0, to: UInt.self) } }
            }
            // What was read has the dictionary.
            transaction[key(0)] = value
            let first = memory()
            let steps: [() -> Void] = [
                { transaction[key(1)] = value }, { transaction[key(1)] += 1 }, { transaction.remove(key(1)) },
                { transaction[key(2)] = value }, { transaction.remove(key(3)) }, { transaction[key(1)] = value },
            ]
            for step in steps {
                step()
                #expect(memory() == first)
            }
        }
        func check(_ store: ObservableStore) {
            let values = store[StorageKey<[String: Int]>(own, default: [:])]
            #expect(values.filter { $0.value < 0 } == ["k0": -2, "k1": -2, "k2": -2] && values.count == Self.numbers.count - 1)
            #expect(store[whole].filter { $0.value < 0 } == ["k0": -2, "k1": -2, "k2": -2])
            #expect(store.entries["old"] == (declaration == .keepingOld ? -2 : nil))
        }
        try await store.update { makeEdits(in: $0, -1) }
        store.edit { makeEdits(in: $0, -2) }
        check(store)
        try await store.close()
        check(try storage.open())
    }

    @Test("A default that a transaction stores by reading is an edit of one value in the dictionary", arguments: Fixture.quick)
    func persistedDefault(fixture: Fixture) async throws {
        let storage = try fixture.make(["d": .dictionary(Self.numbers)])
        let store = try storage.open()
        await store.suspend()
        store.edit { transaction in
            func memory() -> UInt? {
                transaction[StorageKey<PropertyListValue?>("d")]?.dictionary.map { unsafeBitCast($0, to: UInt.self) }
            }
            // What was read has the dictionary.
            transaction[key(0)] = -1
            let first = memory()
            for name in ["a", "b"] { #expect(transaction[StorageKey("d", name, persistsDefault: .whenMissing, default: 7)] == 7) }
            #expect(memory() == first)
            // A value on the path is no dictionary.
            #expect(transaction[StorageKey("d", "k1", "c", persistsDefault: .whenMissing, default: 7)] == 7)
        }
        _ = try storage.edit { $0["d"] = .dictionary(Self.numbers.merging(["k2": -2]) { $1 }) }
        store.resume()
        try await store.close()
        let expected = Self.numbers.merging(["k0": -1, "a": 7, "b": 7, "k2": -2]) { $1 }
        #expect(try storage.entries == ["d": .dictionary(expected)])
    }

    @Test("An edit of a transaction that is refused in one of its entries changes none, and depends on that entry")
    func refused() async throws {
        let service = ServiceBackend(["d": 1])
        let store = try await ObservableStore.open(service)
        let key = Declaration.writingThrough.key(key(1), in: store)
        let error = StorageError.unencodable(key: ".d.k1", reason: "the value of \"d\" is integer 1, not a dictionary; remove it first")
        try await store.update { transaction in
            let refusal = #expect(throws: StorageError.self) { try transaction.set(5, for: key) }
            #expect(refusal == error)
        }
        #expect(store.entries == ["d": 1] && service.batches.isEmpty)
        #expect(service.readKeys.map { $0.map { $0.contains("d") } } == [true])
    }

    @Test("A large dictionary inside others is not copied either, and removed with its last value")
    func nested() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["a": ["b": .dictionary(Self.numbers), "c": 1]]))
        await store.suspend()
        let key = StorageKey<Int?>("a", "b", "k7")
        store[key] = 1
        let memory = try memory(of: "a", "b", in: store)
        for number in 2..<5 {
            store[key] = number
            #expect(try self.memory(of: "a", "b", in: store) == memory)
        }
        store[key] = nil
        #expect(try self.memory(of: "a", "b", in: store) == memory)
        #expect(store.entries["a"]?["b"]?.dictionary?.count == Self.numbers.count - 1)
        for name in Self.numbers.keys where name != "k7" { store.remove(StorageKey<Int?>("a", "b", name)) }
        #expect(store.entries == ["a": ["c": 1]])
    }

    @Test("Observers of what is around an edited value, of what is beside it and inside it, have the values before and after")
    func observers() async throws {
        let entry = PropertyListValue.dictionary(Self.numbers.merging(["a": ["b": ["c": 1], "other": 2]]) { $1 })
        let store = try ObservableStore(backend: InMemoryBackend(["d": entry]))
        await store.suspend()
        let seen = Recorder<String>()
        func listen(_ key: StorageKey<PropertyListValue?>) -> ObservationToken {
            store.addUpdateListener(for: key) { change in
                let values = [change.oldValue, change.newValue].map { value in
                    (value?["a"] ?? value).map { "\($0.dictionary?.count == nil ? $0 : $0["b"] ?? $0)" } ?? "nil"
                }
                seen.record("\(change.key) \(values[0]) \(values[1])")
            }
        }
        let outside = [listen(StorageKey("d", "a", "b", "c")), listen(StorageKey("d", "a", "other")), listen(StorageKey("d", "k1"))]
        let scene = SceneStore(sceneID: "one", base: store)
        let inherited = scene.stored(StorageKey("d", "a", "b", "c", default: 0)).addUpdateListener { seen.record("scene \($0.newValue)") }
        let beside = scene.stored(StorageKey("d", "k1", default: 0)).addUpdateListener { seen.record("beside \($0.newValue)") }
        let key = StorageKey<PropertyListValue?>("d", "a", "b")
        store[key] = ["c": 5]
        #expect(Set(seen.elements) == [".d.a.b.c 1 5", "scene 5"])
        #expect(seen.elements.count == 2)
        let around = [listen(StorageKey("d")), listen(StorageKey("d", "a")), listen(key)]
        var all = store.allChanges().makeAsyncIterator()
        store[key] = ["c": 6]
        #expect(
            Set(seen.elements.dropFirst(2)) == [
                ".d.a.b.c 5 6", "scene 6", "d { c = 5; } { c = 6; }", ".d.a { c = 5; } { c = 6; }", ".d.a.b { c = 5; } { c = 6; }",
            ])
        let change = try #require(await all.next())
        #expect(change.oldValue?["a"] == ["b": ["c": 5], "other": 2] && change.oldValue?.dictionary?.count == 2_001)
        #expect(change.newValue?["a"] == ["b": ["c": 6], "other": 2] && change.newValue?.dictionary?.count == 2_001)
        withExtendedLifetime((outside, inherited, beside, around)) {}
    }

    @Test("After a value was set that is not valid, readers of it and of the whole dictionary have the last valid ones")
    func lastValid() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(Self.numbers)]))
        #expect(store[whole].count == 2_000)
        #expect(store[key(1)] == 1)
        store[StorageKey("d", "k1", default: "")] = "text"
        store[key(2)] = -2
        #expect(store[whole]["k1"] == 1)
        #expect(store[key(1)] == 1 && store[key(2)] == -2)
        #expect(throws: StorageError.self) { try store.value(for: whole) }
        store[key(1)] = -1
        #expect(store[whole]["k1"] == -1 && store[whole]["k2"] == -2)
    }

    @Test("A value that was valid is the last one, although the dictionary that another writer has replaced before did not have it")
    func lastValidAfterOthers() async throws {
        let backend = InMemoryBackend(["d": .dictionary(Self.numbers)])
        let store = try ObservableStore(backend: backend)
        var changes = store.allChanges().makeAsyncIterator()
        _ = try backend.edit { $0["d"] = .dictionary(Self.numbers.merging(["other": 1]) { $1 }) }
        _ = await changes.next()
        store[key(9_999)] = 1
        #expect(store[key(9_999)] == 1)
        store[StorageKey("d", "k9999", default: "")] = "text"
        #expect(store[key(9_999)] == 1)
    }

    @Test("After what contains a value was removed, one that is not valid leaves the default")
    func removedAround() throws {
        let entry = Self.numbers.merging(["inner": ["a": 1]]) { $1 }
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(entry)]))
        let inner = StorageKey("d", "inner", "a", default: 0)
        #expect(store[inner] == 1)
        store.remove(StorageKey<PropertyListValue?>("d", "inner"))
        store[StorageKey("d", "inner", "a", default: "")] = "text"
        #expect(store[inner] == 0)
    }

    @Test(
        "After a value was removed, one that is not valid leaves the default, and nothing is kept of removed ones",
        arguments: [true, false])
    func removed(byOthers: Bool) async throws {
        let backend = InMemoryBackend(["d": .dictionary(Self.numbers)])
        let store = try ObservableStore(backend: backend)
        for number in 0..<200 { #expect(store[key(number)] == number) }
        if byOthers {
            var changes = store.allChanges().makeAsyncIterator()
            _ = try backend.edit { $0["d"] = .dictionary(Self.numbers.filter { $0.value == 999 }) }
            _ = await changes.next()
        } else {
            for number in 0..<200 { store.remove(key(number)) }
        }
        let text = StorageKey("d", "k1", default: "")
        store[text] = "text"
        #expect(store[key(1)] == 0)
        store.remove(text)
        // Reading it leaves no earlier value.
        #expect(!store[whole].isEmpty)
        #expect(store.cache.update { $0.entries.entry("d")?.content.history.isEmpty } == true)
    }

    @Test("The last valid value of a dictionary, or of a value in it, is not used any more after it was removed with the other one")
    func removedTogether() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(Self.numbers)]))
        let inner = StorageKey<[String: Int]>("d", "inner", default: [:])
        let level = StorageKey("d", "inner", "level", default: 0)
        func setInvalid(_ path: String...) {
            store[StorageKey<PropertyListValue?>("d", path[0])] = path.dropFirst().reversed().reduce("low") { [$1: $0] }
        }
        store[level] = 5
        #expect((store[inner], store[level]) == (["level": 5], 5))
        store.remove(level)
        setInvalid("inner")
        #expect(store[inner] == [:])
        store.remove(inner)
        store[level] = 6
        #expect(store[level] == 6)
        store[inner] = ["other": 1]
        setInvalid("inner", "level")
        #expect(store[level] == 0)
    }

    @Test("The last valid value is the one set or read last, whether the dictionary was edited inside or replaced since")
    func lastValidInside() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(Self.numbers)]))
        let level = key(1)
        let heard = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: level) { heard.record($0) }
        func replace(by value: PropertyListValue) {
            store[StorageKey<PropertyListValue?>("d")] = .dictionary(Self.numbers.merging(["k1": value]) { $1 })
        }
        let raw = StorageKey<PropertyListValue?>("d", "k1")
        replace(by: 5)
        #expect(store[level] == 5)
        store[level] = 6
        store[raw] = "low"
        #expect(store[level] == 6)
        store[level] = 7
        store[raw] = "lower"
        replace(by: 9)
        #expect(heard.elements.map(\.oldValue) == [1, 5, 6, 6, 7, 7])
        #expect(heard.elements.map(\.newValue) == [5, 6, 6, 7, 7, 9])
        withExtendedLifetime(token) {}
    }

    @Test(
        "After a value was removed, one that is not valid leaves the default, whatever the last dictionary that was kept has",
        arguments: [true, false])
    func removedSinceKept(isObserved: Bool) throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(Self.numbers)]))
        let (level, raw) = (key(1), StorageKey<PropertyListValue?>("d", "k1"))
        let heard = Recorder<Change<Int>>()
        let token = isObserved ? store.addUpdateListener(for: level) { heard.record($0) } : nil
        // The next edit keeps a dictionary that was read.
        #expect(store[whole]["k1"] == 1)
        store[key(2)] = -2
        store.remove(level)
        store[raw] = "low"
        #expect(store[level] == 0)
        store[raw] = "lower"
        #expect(store[level] == 0)
        store[StorageKey<PropertyListValue?>("d")] = .dictionary(Self.numbers.merging(["k1": "lowest"]) { $1 })
        #expect(store[level] == 0)
        store[level] = 7
        #expect(store[level] == 7)
        store[raw] = "low"
        #expect(store[level] == 7)
        #expect(heard.elements.map(\.oldValue) == (isObserved ? [1, 0, 0, 0, 0, 7] : []))
        #expect(heard.elements.map(\.newValue) == (isObserved ? [0, 0, 0, 0, 7, 7] : []))
        withExtendedLifetime(token) {}
    }

    @Test("A value that was set and read in place of an invalid one is the last valid one")
    func validAfterInvalid() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": .dictionary(Self.numbers)]))
        let invalid = Self.numbers.merging(["k1": "low"]) { $1 }
        store.cache.deliver(store.cache.change { $0.merge(["d": .dictionary(invalid)], origin: .external) }.deliveries)
        #expect(store[key(1)] == 1)
        store[key(1)] = 5
        #expect(store[key(1)] == 5)
        let text = StorageKey("d", "k1", default: "")
        store[text] = "low"
        // Valid for readers of another type.
        #expect(store[text] == "low")
        #expect(store[key(1)] == 5)
    }
}
