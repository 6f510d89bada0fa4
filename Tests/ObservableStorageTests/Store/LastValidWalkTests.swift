import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

private protocol FollowingReader {
    var isListening: Bool { get }
    func follow(_ entries: [String: PropertyListValue])
    func settle() async
    func verify(isExact: Bool, _ text: String)
}

/// A reader of a key, with the values that it may have: those that were valid and stored since there was none.
private final class Reader<Value: Sendable & Equatable>: FollowingReader {
    private let store: ObservableStore
    private let key: StorageKey<Value>
    private var valid: [Value] = []
    private var isValid = false
    private let heard = Recorder<Change<Value>>()
    private var told: (count: Int, last: Value)
    private var token: ObservationToken?

    init(_ key: StorageKey<Value>, of store: ObservableStore, isListening: Bool) {
        (self.store, self.key, told) = (store, key, (0, store[key]))
        if isListening { token = store.addUpdateListener(for: key) { [heard] in heard.record($0) } }
    }

    var isListening: Bool { token != nil }

    /// Waits until all changes were told: the first value of another listener follows them.
    func settle() async {
        let (values, continuation) = AsyncStream.makeStream(of: Value.self)
        let token = store.addUpdateListener(for: key, initial: true) { continuation.yield($0.newValue) }
        for await _ in values { break }
        token.cancel()
    }

    func follow(_ entries: [String: PropertyListValue]) {
        let name = key.definition.entryName
        guard let stored = name.leaf(entries[name.own]) else { return (valid, isValid) = ([], false) }
        let value = try? key.decoded(stored)
        isValid = value != nil
        if let value, value != valid.last { valid.append(value) }
    }

    func verify(isExact: Bool, _ text: String) {
        let value = store[key]
        for value in [value, store.snapshot[key]] {
            if isExact || isValid {
                #expect(value == valid.last ?? key.defaultValue, "\(text): \(key.name)")
            } else {
                #expect(value == key.defaultValue || valid.contains(value), "\(text): \(key.name)")
            }
        }
        for change in heard.elements.dropFirst(told.count) {
            #expect(change.oldValue == told.last, "\(text): \(key.name)")
            told = (told.count + 1, change.newValue)
        }
        if isListening { #expect(told.last == value, "\(text): \(key.name)") }
    }
}

/// Random edits of an entry, and of values inside another one, with readers of two types of each.
private struct Walk {
    /// Whether all or one of the readers listen, or all read after each step; the others read rarely, and may miss a value.
    enum Attention: CaseIterable { case allListening, oneListening, allReading, distracted }

    let store: ObservableStore
    private let attention: Attention
    private let fillers: [String: PropertyListValue]
    private let readers: [any FollowingReader]
    private var generator: SeededGenerator
    private let raw = [
        StorageKey<PropertyListValue?>("p"), StorageKey("d", "a"), StorageKey("d", "x", "a"), StorageKey("d", "x"), StorageKey("d"),
    ]
    private let numbers = [StorageKey("p", default: 0), StorageKey("d", "a", default: 0), StorageKey("d", "x", "a", default: 0)]
    private let texts = [StorageKey("p", default: ""), StorageKey("d", "a", default: ""), StorageKey("d", "x", "a", default: "")]

    /// - Parameter isLarge: whether the dictionary is edited in place, so that earlier ones are not kept.
    init(seed: UInt64, attention: Attention, isLarge: Bool) throws {
        generator = SeededGenerator(seed: seed)
        self.attention = attention
        fillers = (0..<(isLarge ? 40 : 0)).reduce(into: [:]) { $0["k\($1)"] = .integer(PropertyListInteger(Int64($1))) }
        let store = try ObservableStore(backend: InMemoryBackend(["p": 1, "d": .dictionary(fillers.merging(["a": 1]) { $1 })]))
        var count: UInt64 = 0
        func reader<Value>(_ key: StorageKey<Value>) -> any FollowingReader where Value: Equatable & Sendable {
            count += 1
            let isListening = attention == .allListening || attention == .oneListening && seed % 9 + 1 == count
            return Reader(key, of: store, isListening: isListening)
        }
        readers =
            numbers.map { reader($0) } + texts.map { reader($0) }
            + [
                reader(StorageKey<[String: Int]>("d", "x", default: [:])), reader(StorageKey<[String: String]>("d", "x", default: [:])),
                reader(StorageKey<[String: PropertyListValue]>("d", default: [:])),
            ]
        self.store = store
        for reader in readers { reader.follow(store.entries) }
    }

    mutating func run(steps: Int) async {
        for step in 0..<steps {
            let before = store.entries
            let between = change()
            let after = store.entries
            for reader in readers {
                if let between { reader.follow(between) }
                reader.follow(after)
            }
            let text = "step \(step), after \(before["p"].map { "\($0)" } ?? "nil") \(Self.text(before)): \(Self.text(after))"
            for reader in readers.shuffled(using: &generator) {
                let isExact = reader.isListening || attention == .allReading
                guard isExact || Int.random(in: 0..<6, using: &generator) == 0 else { continue }
                // Changes for the listeners of one key only are told by the thread that makes them.
                if attention == .allListening { await reader.settle() }
                reader.verify(isExact: isExact, text)
            }
        }
    }

    private static func text(_ entries: [String: PropertyListValue]) -> String {
        "p = \(entries["p"].map { "\($0)" } ?? "nil"), d = "
            + "\(entries["d"].map { "\(PropertyListValue.dictionary(($0.dictionary ?? [:]).filter { !$0.key.hasPrefix("k") }))" } ?? "nil")"
    }

    /// Makes a change, and returns the entries between two in one step.
    private mutating func change() -> [String: PropertyListValue]? {
        let store = store
        // Nobody can read between the changes of one step.
        switch Int.random(in: 0..<(attention == .allReading ? 14 : 16), using: &generator) {
        case 0..<6:
            let (key, value) = edit()
            store[key] = value
        case 6..<8: store[numbers[index(numbers)]] = Int.random(in: 1...9, using: &generator)
        case 8..<10: store[texts[index(texts)]] = "\(Int.random(in: 1...9, using: &generator))"
        case 10..<12:
            let edits = (0..<3).map { _ in edit() }
            store.edit { transaction in
                for (key, value) in edits { transaction[key] = value }
            }
        case 12..<14: apply([["d": whole(), "p": leaf()]])
        default:
            let steps = [Bool.random(using: &generator) ? nil : whole(), whole()]
            var between = store.entries
            between["d"] = steps[0]
            apply(steps.map { ["d": $0] })
            return between
        }
        return nil
    }

    /// Applies the edits of another process in one step.
    private func apply(_ steps: [EntryEdits]) {
        let (deliveries, _) = store.cache.change { state in steps.flatMap { state.apply($0, origin: .external) } }
        store.cache.deliver(deliveries)
    }

    private mutating func index(_ keys: [some Any]) -> Int { Int.random(in: keys.indices, using: &generator) }

    private mutating func edit() -> (key: StorageKey<PropertyListValue?>, value: PropertyListValue?) {
        let index = index(raw)
        return (raw[index], index == 4 ? whole() : index == 3 ? inner() : leaf())
    }

    private mutating func leaf() -> PropertyListValue? {
        let number = Int.random(in: 1...9, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return nil
        case 1..<3: return .integer(PropertyListInteger(Int64(number)))
        case 3..<5: return .string("\(number)")
        // Invalid for all readers.
        default: return .real(Double(number) + 0.5)
        }
    }

    private mutating func inner() -> PropertyListValue? {
        if Int.random(in: 0..<6, using: &generator) == 0 { return leaf() }
        var values: [String: PropertyListValue] = [:]
        for name in ["a", "b"] { values[name] = leaf() }
        return values.isEmpty ? nil : .dictionary(values)
    }

    private mutating func whole() -> PropertyListValue? {
        if Int.random(in: 0..<8, using: &generator) == 0 { return leaf() }
        var values = fillers
        (values["a"], values["x"]) = (leaf(), inner())
        return .dictionary(values)
    }
}

@Suite("Random walks over last valid values", .timeLimit(.minutes(isLong ? 30 : 10)))
struct LastValidWalkTests {
    @Test(
        "Readers of two types and listeners agree, and none has a value from before a removal",
        arguments: visited(0..<UInt64(isLong ? 256 : 32)), [true, false])
    func walk(seed: UInt64, isLarge: Bool) async throws {
        for attention in Walk.Attention.allCases {
            var walk = try Walk(seed: seed, attention: attention, isLarge: isLarge)
            let failures = walk.store.failures
            // The entries of the storage are not those that other processes seem to have set.
            await walk.store.suspend()
            await walk.run(steps: 60)
            withExtendedLifetime(failures) {}
        }
    }
}
