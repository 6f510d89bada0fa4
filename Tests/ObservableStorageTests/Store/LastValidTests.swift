import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A reader that cannot decode the stored value has the last one that was valid for its type and stored since there was none.
@Suite("Last valid values", .timeLimit(.minutes(10)))
struct LastValidTests {
    private let level = StorageKey("d", "x", "level", default: 0)
    private let raw = StorageKey<PropertyListValue?>("d", "x", "level")

    /// How a value inside a dictionary is removed.
    enum Removal: CaseIterable, Sendable {
        case alone, withDictionary, byReplacement, byText, byOthers

        func perform(in store: ObservableStore) {
            let inner = StorageKey<PropertyListValue?>("d", "x")
            switch self {
            case .alone: store.remove(StorageKey("d", "x", "level", default: 0))
            case .withDictionary: store.remove(inner)
            case .byReplacement: store[StorageKey<PropertyListValue?>("d")] = ["other": 1]
            case .byText:
                store[inner] = "text"
                store[inner] = ["other": 1]
            case .byOthers:
                let value: PropertyListValue = ["x": ["other": 1], "other": 1]
                store.cache.deliver(store.cache.change { $0.apply(["d": value], origin: .external) }.deliveries)
            }
        }
    }

    @Test(
        "After a value inside a dictionary was removed, several that are not valid leave the default, read or not",
        arguments: Removal.allCases, [true, false])
    func removed(_ removal: Removal, isRead: Bool) async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["x": ["level": 5, "other": 1], "other": 1]]))
        await store.suspend()
        if isRead { #expect(store[level] == 5) }
        removal.perform(in: store)
        for value in ["low", "lower", "lowest"] as [PropertyListValue] { store[raw] = value }
        #expect(store[level] == 0 && store.snapshot[level] == 0 && store.edit { $0[level] } == 0)
        // What is beside it was not removed.
        let other = StorageKey("d", "other", default: 0)
        store[StorageKey<PropertyListValue?>("d", "other")] = "text"
        #expect(store[other] == 1)
        store[level] = 6
        #expect(store[level] == 6)
        for value in ["low", "lower"] as [PropertyListValue] { store[raw] = value }
        #expect(store[level] == 6)
    }

    @Test("A dictionary inside another is not used any more after it was removed, nor are the values in it", arguments: [true, false])
    func removedDictionary(isRead: Bool) async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["x": ["level": 5], "other": 1]]))
        await store.suspend()
        let inner = StorageKey<[String: Int]>("d", "x", default: [:])
        if isRead { #expect(store[inner] == ["level": 5] && store[level] == 5) }
        store.remove(inner)
        for value in ["low", "lower"] as [PropertyListValue] { store[raw] = value }
        #expect(store[inner] == [:] && store[level] == 0)
    }

    @Test("A value that was set with one type is kept for its readers while values of another type are set", arguments: [true, false])
    func otherType(isRead: Bool) async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let (number, text) = (StorageKey("level", default: 0), StorageKey("level", default: ""))
        store[number] = 5
        store[text] = "high"
        if isRead { #expect((store[number], store[text]) == (5, "high")) }
        for value in 7...9 {
            store[number] = value
            if isRead { #expect((store[number], store[text]) == (value, "high")) }
        }
        store[StorageKey<PropertyListValue?>("level")] = true
        #expect((store[number], store[text]) == (9, "high"))
        store.remove(text)
        store[StorageKey<PropertyListValue?>("level")] = true
        #expect((store[number], store[text]) == (0, ""))
    }

    @Test("Readers of different types of a value inside a dictionary have their own last valid values, in whichever order they read")
    func otherTypeInside() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["x": ["level": 5]]]))
        await store.suspend()
        let text = StorageKey("d", "x", "level", default: "")
        #expect(store[level] == 5)
        store[text] = "high"
        #expect((store[text], store[level]) == ("high", 5))
        store[raw] = true
        for number in 0..<4 {
            store[StorageKey("d", "other", default: 0)] = number + 1
            if number.isMultiple(of: 2) { #expect(store[text] == "high") }
            #expect(store[level] == 5)
            #expect(store[text] == "high")
        }
    }

    @Test("Reading the whole dictionary does not take the last valid value from readers of one inside it")
    func wholeRead() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["x": ["level": 5]]]))
        #expect(store[level] == 5)
        for value in [6, "low"] as [PropertyListValue] {
            store.cache.deliver(store.cache.change { $0.apply(["d": ["x": ["level": value]]], origin: .external) }.deliveries)
        }
        #expect(store[StorageKey<[String: PropertyListValue]>("d", default: [:])] == ["x": ["level": "low"]])
        #expect(store[level] == 6)
    }

    @Test("Of a value that is read as many types, those of the last few are kept")
    func bounded() {
        var history = EntryHistory()
        let name = EntryName(own: "level")
        func replace(_ number: Int64, by new: PropertyListValue) {
            history.replaced(
                .integer(PropertyListInteger(number)), by: new, isEdit: true, type: nil, revision: UInt64(number) + 1)
        }
        let types: [Any.Type] = [Int.self, String.self, Bool.self, Double.self, Int?.self, String?.self]
        for (number, type) in types.enumerated() {
            let new = PropertyListValue.integer(PropertyListInteger(Int64(number) + 1))
            replace(Int64(number), by: new)
            _ = history.markValid(new, of: name, as: ObjectIdentifier(type))
        }
        replace(6, by: "low")
        #expect(history.earlier(name) == [6, 6, 5, 4, 3, 1])
    }

    @Test("A removal is told with the last valid value, also if the entry is set again in the same step")
    func removedAndSet() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["d": ["x": ["level": 1]]]))
        await store.suspend()
        let heard = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: level) { heard.record($0) }
        store[level] = 5
        for value in ["low", "lower"] as [PropertyListValue] { store[raw] = value }
        store.cache.deliver(
            store.cache.change { state in
                state.apply(["d": nil], origin: .external) + state.apply(["d": ["x": ["level": "lowest"]]], origin: .external)
            }.deliveries)
        #expect(heard.elements.map(\.oldValue) == [1, 5, 5, 5, 0])
        #expect(heard.elements.map(\.newValue) == [5, 5, 5, 0, 0])
        #expect(store[level] == 0)
        withExtendedLifetime(token) {}
    }

    @Test("A value that a batch removes and sets again was replaced: no other reader, in any process, has seen it removed")
    func batch() async throws {
        let backend = InMemoryBackend(["level": 5])
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        let (level, raw) = (StorageKey("level", default: 0), StorageKey<PropertyListValue?>("level"))
        let heard = Recorder<Change<Int>>()
        let tokens = [store, other].map { $0.addUpdateListener(for: level) { heard.record($0) } }
        store.edit { transaction in
            transaction.remove(level)
            #expect(transaction[level] == 0)
            transaction[raw] = "low"
        }
        #expect(try await heard.elements(count: 2).map(\.newValue) == [5, 5])
        #expect((store[level], other[level]) == (5, 5))
        withExtendedLifetime(tokens) {}
    }
}
