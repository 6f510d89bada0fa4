import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// What a key reads from, in the order of precedence. Only a key in a scene has the second, before the application's value.
private enum Layer: Int, CaseIterable { case mandatory, scene, stored, defaults }

private enum Content: CaseIterable { case none, good, bad }

/// The rule: of the first layer with a value, that or the last valid one since it had none, or else what would be used without the layer.
private struct Model: CustomStringConvertible {
    struct Value: Equatable { var number: Int, isGood: Bool }

    private(set) var present: [Layer: Value] = [:]
    private var last: [Layer: Int] = [:]

    mutating func set(_ value: Value?, in layer: Layer) {
        if value == nil { last[layer] = nil } else if let old = present[layer], old.isGood { last[layer] = old.number }
        present[layer] = value
    }

    var source: Layer? { Layer.allCases.first { present[$0] != nil } }
    var value: Value? { source.flatMap { present[$0] } }
    var isBad: Bool { value?.isGood == false }

    var description: String {
        Layer.allCases.compactMap { layer in present[layer].map { "\(layer): \($0.isGood ? "\($0.number)" : "bad \($0.number)")" } }
            .joined(separator: ", ")
    }

    /// The layer of the value that is in effect; nil for the key's own default.
    var used: Layer? { Layer.allCases.first { number(in: $0) != nil } }

    /// The number in effect; 0 for the key's own default.
    var number: Int { used.flatMap(number) ?? 0 }

    private func number(in layer: Layer) -> Int? {
        present[layer].flatMap { $0.isGood ? $0.number : last[layer] }
    }
}

/// A store whose layers are changed one at a time. Changes are delivered on this thread, so that nothing has to be waited for.
private final class Site {
    private static let plain = StorageKey("level", default: 0)
    private static let nested = StorageKey("group", "level", default: 0)

    let layers: [Layer]
    private(set) var model = Model()
    private let store: ObservableStore
    private let key: StorageKey<Int>
    private let name: EntryName
    private var serial = 0
    private var files: [Layer: [String: PropertyListValue]] = [:]
    // The numbers of the invalid values that were in effect.
    private var invalid: Set<Int> = []
    private let failures: AsyncStream<StorageError>
    private let heard = Recorder<Change<Int>>()
    private var heardCount = 0
    private var values: AsyncStream<Int>?
    private var token: ObservationToken?

    init(isNested: Bool, isInScene: Bool) throws {
        store = try ObservableStore(backend: InMemoryBackend())
        let base = isNested ? Self.nested : Self.plain
        key = isInScene ? base.scoped(to: SceneStore(sceneID: "one", base: store).scope) : base
        name = key.definition.entryName
        layers = isInScene ? Layer.allCases : [.mandatory, .stored, .defaults]
        failures = store.failures
    }

    func observe() {
        values = store.values(of: key)
        token = store.addUpdateListener(for: key) { [heard] in heard.record($0) }
    }

    /// Whether a change may be made: not the removal of nothing.
    func accepts(_ content: Content, in layer: Layer) -> Bool {
        content != .none || model.present[layer] != nil
    }

    /// - Parameter isExact: whether each value is read before it is replaced, or there were not more than two in each layer.
    func change(_ content: Content, in layer: Layer, isExact: Bool = true) {
        let (before, old) = (model, store[key])
        serial += 1
        model.set(content == .none ? nil : Model.Value(number: serial, isGood: content == .good), in: layer)
        set(content == .none ? nil : content == .good ? .integer(PropertyListInteger(Int64(serial))) : .string("\(serial)"), in: layer)
        if model.isBad, let value = model.value { invalid.insert(value.number) }
        let text = "(\(before)) became (\(model))"
        let new = isExact ? model.number : store[key]
        if token != nil { verifyChange(from: old, to: new, after: before, in: layer, text) }
        verifyReading(new, text)
    }

    private func set(_ value: PropertyListValue?, in layer: Layer) {
        let level: [String: PropertyListValue] = value.map { ["level": $0] } ?? [:]
        // Beside another value in the dictionary.
        let whole = name.path.isEmpty ? value : .dictionary(level.merging(["other": .string("\(serial)")]) { $1 })
        switch layer {
        case .scene, .stored:
            let entry = layer == .scene ? name.own : name.registered.own
            store.cache.deliver(store.cache.change { $0.merge([entry: whole], origin: .external) }.deliveries)
        case .mandatory, .defaults:
            files[layer, default: [:]][name.registered.own] = whole
            store.cache.deliver(store.cache.changeLayers(mandatory: files[.mandatory] ?? [:], defaults: files[.defaults] ?? [:]))
        }
    }

    private func verifyReading(_ number: Int, _ text: String) {
        let snapshot = store.snapshot
        let found = [store[key], store[key.described("another key")], snapshot[key], store.edit { $0[key] }]
        #expect(found == Array(repeating: number, count: 4), "\(text)")
        let throwing = [{ try self.store.value(for: self.key) }, { try snapshot.value(for: self.key) }]
        #expect(throwing.map { (try? $0()) == nil } == [model.isBad, model.isBad], "\(text)")
    }

    private func verifyChange(from old: Int, to new: Int, after before: Model, in layer: Layer, _ text: String) {
        let changes = heard.elements.dropFirst(heardCount)
        heardCount += changes.count
        let isTold = before.source != model.source || before.value != model.value || model.isBad && old != new
        #expect(changes.count == (isTold ? 1 : 0), "\(text)")
        guard let change = changes.first else { return }
        let isRemoval =
            switch layer {
            case .mandatory, .defaults: model.source == nil
            case .scene, .stored: model.present[layer] == nil && (model.source?.rawValue ?? .max) > layer.rawValue
            }
        #expect(change.newValue == new, "\(text)")
        #expect(change.oldValue == old, "\(text)")
        switch change.kind {
        case .set: #expect(!isRemoval && !model.isBad, "\(text)")
        case .removed: #expect(isRemoval, "\(text)")
        case .undecodable: #expect(!isRemoval && model.isBad, "\(text)")
        }
    }

    func finish() async throws {
        let number = store[key]
        try await store.close()
        let last = await values?.reduce(nil) { $1 }
        #expect(last == number, "\(model)")
        let count = await failures.reduce(0) { count, _ in count + 1 }
        #expect(count == invalid.count, "\(model)")
    }
}

@Suite("Bad values of layers", .timeLimit(.minutes(isLong ? 30 : 10)))
struct BadLayerValueTests {
    @Test(
        "Readers, snapshots, streams and listeners have the same value, whichever layer becomes invalid, valid or empty",
        arguments: [false, true], [false, true])
    func agreement(isNested: Bool, isInScene: Bool) async throws {
        // Each layer has nothing at first, a valid value, an invalid one, or an invalid one that has replaced a valid one.
        let histories: [[Content]] = [[], [.good], [.bad], [.good, .bad]]
        let layers = try Site(isNested: isNested, isInScene: isInScene).layers
        let changes = layers.flatMap { layer in Content.allCases.map { (layer, $0) } }
        // All combinations are 7,296.
        let step = isLong ? 1 : isInScene ? 67 : 5
        var number = 0
        for state in 0..<layers.reduce(1, { count, _ in count * histories.count }) {
            for (changed, content) in changes {
                number += 1
                guard number.isMultiple(of: step) else { continue }
                let site = try Site(isNested: isNested, isInScene: isInScene)
                var rest = state
                for layer in layers {
                    for content in histories[rest % histories.count] { site.change(content, in: layer) }
                    rest /= histories.count
                }
                site.observe()
                if site.accepts(content, in: changed) { site.change(content, in: changed) }
                try await site.finish()
            }
        }
    }

    @Test(
        "They have the same value after each of many changes, and the last valid one if each was read",
        arguments: 0..<UInt64(isLong ? 2_048 : 64))
    func manyChanges(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let site = try Site(isNested: seed % 2 == 1, isInScene: seed % 4 >= 2)
        let isExact = seed % 8 >= 4
        site.observe()
        for _ in 0..<60 {
            guard let layer = site.layers.randomElement(using: &generator), let content = Content.allCases.randomElement(using: &generator),
                site.accepts(content, in: layer)
            else { continue }
            // What a valid value hides is not read.
            if isExact, let used = site.model.used, used.rawValue < layer.rawValue { continue }
            site.change(content, in: layer, isExact: isExact)
        }
        try await site.finish()
    }

    @Test("A value that was in effect beneath an invalid one is the last valid one after several invalid ones", arguments: [true, false])
    func beneathInvalid(isRead: Bool) throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 1]))
        let level = StorageKey("level", default: 0)
        store.cache.deliver(store.cache.changeLayers(mandatory: ["level": "high"], defaults: [:]))
        let heard = Recorder<Int>()
        let token = isRead ? nil : store.addUpdateListener(for: level) { heard.record($0.newValue) }
        for value in [2, "low", "lower", "lowest"] as [PropertyListValue] {
            store.cache.deliver(store.cache.change { $0.merge(["level": value], origin: .external) }.deliveries)
            if isRead { #expect((store[level], store.snapshot[level]) == (2, 2)) }
        }
        #expect(store[level] == 2)
        #expect(heard.elements == (isRead ? [] : [2]))
        withExtendedLifetime(token) {}
    }

    @Test("A value that was told when no layer hid it any more is the last valid one, although nobody has read it")
    func uncovered() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 1]))
        let level = StorageKey("level", default: 0)
        let heard = Recorder<Int>()
        let token = store.addUpdateListener(for: level) { heard.record($0.newValue) }
        func merge(_ value: PropertyListValue) {
            store.cache.deliver(store.cache.change { $0.merge(["level": value], origin: .external) }.deliveries)
        }
        store.cache.deliver(store.cache.changeLayers(mandatory: ["level": 9], defaults: [:]))
        merge(2)
        store.cache.deliver(store.cache.changeLayers(mandatory: [:], defaults: [:]))
        #expect(heard.elements == [9, 2])
        token.cancel()
        merge("low")
        merge("lower")
        #expect(store[level] == 2)
    }

    @Test("A registered value of another type leaves the previous one in effect, and each is reported once")
    func registered() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let failures = store.failures
        let level = StorageKey("level", default: 1)
        try store.register(["level": 7])
        #expect(store[level] == 7)
        for bad in ["high", "high", "higher"] {
            try store.register(["level": .string(bad)])
            for _ in 0..<2 {
                #expect((store[level], store.snapshot[level]) == (7, 7))
                #expect(throws: StorageError.self) { try store.value(for: level) }
            }
        }
        try store.register(["level": 8])
        #expect(store[level] == 8)
        try await store.close()
        #expect(await failures.reduce(0) { count, _ in count + 1 } == 2)
    }

    @Test("An invalid mandatory value is reported once, also by a modification and by transactions")
    func reportedOnce() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 5]), overrides: [.texts(["level": "7"])])
        let failures = store.failures
        let level = StorageKey("level", default: 1)
        store.cache.deliver(store.cache.changeLayers(mandatory: ["level": "high"], defaults: [:]))
        store[level] += 1
        #expect((store[level], store.snapshot[level]) == (7, 7))
        for value in [5, 1] {
            store.edit { transaction in
                #expect(transaction[level] == value)
                transaction.remove(level)
                #expect(transaction[level] == 1)
            }
        }
        try await store.close()
        #expect(await failures.reduce(0) { count, _ in count + 1 } == 1)
    }

    @Test("What follows an invalid override changes for readers and listeners with the default of the layer")
    func overridden() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["level": 5]), overrides: [.texts(["level": "high"])])
        let level = StorageKey("level", default: 1)
        let heard = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: level) { heard.record($0) }
        for (mandatory, defaults, value) in [(nil, 2, 2), (nil, 3, 3), (4, 3, 4), (4, 6, 4), (nil, 6, 6)] as [(Int?, Int, Int)] {
            store.cache.deliver(
                store.cache.changeLayers(
                    mandatory: mandatory.map { ["level": .integer(PropertyListInteger(Int64($0)))] } ?? [:],
                    defaults: ["level": .integer(PropertyListInteger(Int64(defaults)))]))
            #expect((store[level], store.snapshot[level], heard.elements.last?.newValue) == (value, value, value))
        }
        #expect(heard.elements.map(\.oldValue) == [1, 2, 3, 4])
        withExtendedLifetime(token) {}
    }
}
