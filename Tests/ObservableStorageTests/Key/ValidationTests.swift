import Dispatch
import ObservableStorage
import Observation
import Synchronization
import TestSupport
import Testing

private let port = StorageKey("port", default: 8_080).validated(in: 1...65_535)

private struct RangeKeys: KeyGroup {
    let minimum = StorageKey("minimum", default: 0).validated(in: 0...)
    let maximum = StorageKey("maximum", default: 10)
    let note = StorageKey<String?>("note")

    func validate(_ snapshot: KeyedSnapshot<RangeKeys>) throws {
        if snapshot.minimum > snapshot.maximum { throw Reversed(minimum: snapshot.minimum, maximum: snapshot.maximum) }
    }

    struct Reversed: Error, CustomStringConvertible {
        let minimum: Int
        let maximum: Int
        var description: String { "\(minimum) is more than \(maximum)" }
    }
}

private func reversed(_ minimum: Int, _ maximum: Int) -> StorageError {
    .invalidGroup(group: "RangeKeys", reason: "\(minimum) is more than \(maximum)")
}

@Suite("Validation", .timeLimit(.minutes(10)))
struct ValidationTests {
    @Test("A setter refuses a value that is not valid, and keeps the stored one", arguments: Fixture.allCases)
    func setter(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        store[port] = 443
        let refused = StorageError.unencodable(key: "port", reason: "70000 is not in 1...65535")
        #expect(throws: refused) { try store.set(70_000, for: port) }
        #expect(throws: refused) { try store.stored(port).modify { $0 = 70_000 } }
        await #expect(throws: refused) { try await store.update { $0[port] = 70_000 } }
        store[port] = 70_000
        store.edit { $0[port] = 70_000 }
        var failures = store.failures.makeAsyncIterator()
        #expect(await failures.next() == refused)
        #expect(await failures.next() == refused)
        #expect(store.entries == ["port": 443])
    }

    @Test("A stored value that is not valid leaves readers and observers the last valid one, and is kept", arguments: Fixture.allCases)
    func external(fixture: Fixture) async throws {
        let storage = try fixture.make(["port": 443])
        let store = try storage.open()
        let changes = store.changes(of: port)
        #expect(store[port] == 443)
        _ = try storage.edit { $0["port"] = 70_000 }
        let undecodable = StorageError.undecodable(
            key: "port", expected: "Int", found: "integer, which was refused: 70000 is not in 1...65535")
        var iterator = changes.makeAsyncIterator()
        let change = try #require(await iterator.next())
        #expect((change.oldValue, change.newValue) == (443, 443))
        #expect(change.kind == .undecodable(undecodable))
        #expect(store[port] == 443)
        #expect(throws: undecodable) { try store.value(for: port) }
        #expect(try storage.entries == ["port": 70_000])
        // The same entry without the rule.
        #expect(store[StorageKey("port", default: 0)] == 70_000)
        #expect(store[port] == 443)
        store[port] = 80
        #expect(store[port] == 80)
    }

    @Test("A value that is not valid at the start is the default")
    func initial() throws {
        let store = try Fixture.file.make(["port": 0, "level": 3]).open()
        #expect(store[port] == 8_080)
        let level = StorageKey<Int?>("level").validated(in: ..<3)
        #expect(store[level] == nil)
        #expect(throws: StorageError.unencodable(key: "level", reason: "3 is not in ..<3")) { try store.set(3, for: level) }
        store[level] = 2
        store[level] = nil
        #expect(!store.isSet(level))
    }

    @Test("Rules with a reason, and those that throw, apply in their order, to values with a codec too")
    func rules() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let even = StorageKey("even", codec: .json, default: [0]).validated("it is empty") { !$0.isEmpty }.validated { numbers in
            if let odd = numbers.first(where: { !$0.isMultiple(of: 2) }) { throw RangeKeys.Reversed(minimum: odd, maximum: 0) }
        }
        #expect(throws: StorageError.unencodable(key: "even", reason: "it is empty")) { try store.set([], for: even) }
        let refused = RangeKeys.Reversed(minimum: 3, maximum: 0)
        #expect(throws: StorageError.unencodable(key: "even", reason: "3 is more than 0", underlying: UnderlyingError(refused))) {
            try store.set([2, 3], for: even)
        }
        try store.set([2], for: even)
        #expect(store[even] == [2])
    }

    @Test("A value that the same key without the rule has decoded is checked")
    func decodedWithout() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let numbers = StorageKey("numbers", codec: .json, default: [0])
        let positive = numbers.validated("one is negative") { $0.allSatisfy { $0 >= 0 } }
        store[numbers] = [-1]
        #expect(store[numbers] == [-1])
        #expect(store[positive] == [0])
    }

    @Test("An earlier type that migrates to a value that is not valid is kept")
    func migration() throws {
        let store = try ObservableStore(backend: try Fixture.memory.make(["port": "seventy"]).backend)
        let migrated = port.migrating(from: String.self) { $0.count * 100_000 }
        #expect(store[migrated] == 8_080)
        #expect(store.entries == ["port": "seventy"])
    }

    @Test("A group's rule refuses setting a key, and edits and transactions as a whole", arguments: Fixture.allCases)
    func groupSetter(fixture: Fixture) async throws {
        let storage = try fixture.make(["minimum": 2])
        let store = try storage.open()
        let settings = KeyedStore<RangeKeys>(store)
        #expect(throws: reversed(11, 10)) { try settings.stored(\.minimum).set(11) }
        let minimum = try #require(settings.storedValues.first { $0.name == "minimum" })
        #expect(throws: reversed(11, 10)) { try minimum.set(11) }
        settings.maximum = 1
        settings.edit {
            $0.note = "x"
            $0.maximum = 1
        }
        await #expect(throws: reversed(2, 1)) {
            try await settings.update {
                $0.note = "x"
                $0.maximum = 1
            }
        }
        #expect(store.entries == ["minimum": 2])
        // Both at once, although each of them alone would not be valid.
        settings.edit {
            $0.minimum = 20
            $0.maximum = 30
        }
        try await settings.update {
            $0.maximum = 50
            $0.minimum = 40
        }
        #expect((settings.minimum, settings.maximum) == (40, 50))
        settings.minimum += 5
        settings.minimum += 50
        #expect(settings.minimum == 45)
        var failures = store.failures.makeAsyncIterator()
        #expect(await failures.next() == reversed(2, 1))
        #expect(await failures.next() == reversed(2, 1))
        #expect(await failures.next() == reversed(95, 50))
    }

    @Test("A group that is not valid as a whole keeps its last valid snapshot whole", arguments: Fixture.allCases)
    func groupSnapshot(fixture: Fixture) async throws {
        let storage = try fixture.make(["minimum": 2])
        let store = try storage.open()
        let settings = KeyedStore<RangeKeys>(store)
        var values = settings.values(of: \.minimum, \.maximum, \.note).makeAsyncIterator()
        #expect(try #require(await values.next()) == (2, 10, nil))
        settings.minimum = 3
        #expect(try #require(await values.next()) == (3, 10, nil))
        try await store.flush()
        let minimums = settings.values(of: \.minimum)
        _ = try storage.edit {
            $0["minimum"] = 99
            $0["note"] = "external"
        }
        for await minimum in minimums where minimum == 99 { break }
        let snapshot = settings.snapshot
        #expect((snapshot.minimum, snapshot.maximum, snapshot.note) == (3, 10, nil))
        #expect(snapshot.snapshot.groupFailure == reversed(99, 10))
        #expect((settings.minimum, settings.maximum, settings.note) == (3, 10, nil))
        #expect(settings.stored(\.minimum).value == 99)
        var failures = store.failures.makeAsyncIterator()
        #expect(await failures.next() == reversed(99, 10))
        _ = settings.snapshot
        #expect(try storage.entries == ["minimum": 99, "note": "external"])
        // The stream has nothing new until the group is valid again.
        _ = try storage.edit { $0["maximum"] = 100 }
        #expect(try #require(await values.next()) == (99, 100, "external"))
        #expect(settings.snapshot.note == "external")
        #expect(settings.snapshot.snapshot.groupFailure == nil)
        #expect(settings.note == "external")
    }

    @Test("The last valid snapshot has what was set, also if no snapshot was taken meanwhile", arguments: Fixture.quick)
    func groupAfterSetting(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let settings = KeyedStore<RangeKeys>(store)
        settings.minimum = 3
        try await store.flush()
        let minimums = settings.values(of: \.minimum)
        _ = try storage.edit { $0["minimum"] = 99 }
        for await minimum in minimums where minimum == 99 { break }
        #expect(settings.snapshot.minimum == 3)
    }

    @Test("A group without a rule is not checked, and a group whose stored values are not valid at the start has its defaults")
    func groupDefaults() throws {
        let store = try ObservableStore(backend: try Fixture.memory.make(["minimum": 30, "note": "n"]).backend)
        let settings = KeyedStore<RangeKeys>(store)
        let snapshot = settings.snapshot
        #expect((snapshot.minimum, snapshot.maximum, snapshot.note) == (0, 10, nil))
        #expect(snapshot.snapshot.groupFailure == reversed(30, 10))
        #expect((settings.minimum, settings.note) == (0, nil))
        settings.maximum += 50
        #expect(store.entries == ["minimum": 30, "note": "n"])
        settings.maximum = 40
        #expect((settings.minimum, settings.snapshot.note, settings.snapshot.snapshot.groupFailure) == (30, "n", nil))
        settings.maximum += 1
        #expect(settings.maximum == 41)
    }

    @Test("A read of a key is tracked by all keys of a group with a rule")
    func tracking() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["minimum": 30]))
        let settings = KeyedStore<RangeKeys>(store)
        let woken = Recorder<Void>()
        withObservationTracking {
            _ = settings.minimum
        } onChange: {
            woken.record(())
        }
        settings.maximum = 40
        #expect(woken.elements.count == 1)
        #expect(settings.minimum == 30)
    }

    @Test("A nested group with a rule has its own last valid values in a snapshot, too")
    func nested() throws {
        struct Outer: KeyGroup {
            let range = RangeKeys()
            let title = StorageKey("title", default: "")
        }
        let store = try ObservableStore(backend: InMemoryBackend(["minimum": 30, "title": "t"]))
        let settings = KeyedStore<Outer>(store)
        let snapshot = settings.snapshot
        #expect((snapshot.title, snapshot.range.minimum) == ("t", 0))
        #expect((settings.title, settings.range.minimum) == ("t", 0))
        #expect((snapshot.snapshot.groupFailure, snapshot.range.snapshot.groupFailure) == (nil, reversed(30, 10)))
    }

    private struct WatchedRange: KeyGroup {
        /// Called while the rule checks values.
        static let meanwhile = Lock<(@Sendable () -> Void)?>(nil)

        let minimum = StorageKey("minimum", default: 0)
        let maximum = StorageKey("maximum", default: 10)

        func validate(_ snapshot: KeyedSnapshot<WatchedRange>) throws {
            let (minimum, maximum) = (snapshot.minimum, snapshot.maximum)
            Self.meanwhile.withLock { $0 }?()
            if minimum > maximum { throw CancellationError() }
        }
    }

    @Test("A rule holds even if a key is set while another one is checked")
    func setMeanwhile() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<WatchedRange>(store)
        func checking(_ meanwhile: @escaping @Sendable () -> Void) {
            WatchedRange.meanwhile.exchange {
                WatchedRange.meanwhile.exchange(nil)
                meanwhile()
            }
        }
        checking { settings.minimum = 9 }
        #expect(throws: StorageError.self) { try settings.stored(\.maximum).set(5) }
        #expect((settings.minimum, settings.maximum) == (9, 10))
        checking { settings.maximum = 9 }
        #expect(throws: StorageError.self) { try settings.stored(\.minimum).modify { $0 += 1 } }
        #expect((settings.minimum, settings.maximum) == (9, 9))
        checking { settings.minimum = 8 }
        try settings.stored(\.maximum).set(12)
        #expect(store.entries == ["minimum": 8, "maximum": 12])
        // A rule that edits a key of the group each time.
        WatchedRange.meanwhile.exchange { store[StorageKey("minimum", default: 0)] ^= 1 }
        defer { WatchedRange.meanwhile.exchange(nil) }
        #expect(throws: StorageError.nestedEdit(key: "minimum")) { try settings.stored(\.maximum).set(20) }
    }
}
