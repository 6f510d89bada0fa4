import Observation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct PersonKeys: KeyGroup {
    let name = StorageKey("name", default: "")
    let age = StorageKey("age", default: 0)
}

@Suite("Observation tracking", .timeLimit(.minutes(10)))
struct TrackingTests {
    @Test("Reading is tracked for each key, whoever changes it", arguments: Fixture.allCases, [false, true])
    func perKey(fixture: Fixture, isExternal: Bool) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let writer = isExternal ? try storage.open() : store
        let person = KeyedStore<PersonKeys>(store)
        let woken = Recorder<String>()
        withObservationTracking {
            _ = person.name
        } onChange: {
            woken.record("name")
        }
        withObservationTracking {
            _ = person.stored(\.age).value
        } onChange: {
            woken.record("age")
        }
        KeyedStore<PersonKeys>(writer).age = 1
        _ = try await woken.elements(count: 1)
        KeyedStore<PersonKeys>(writer).name = "Jo"
        #expect(try await woken.elements(count: 2) == ["age", "name"])
    }

    @Test("A value that stays equal notifies no observer", arguments: Fixture.allCases)
    func equal(fixture: Fixture) throws {
        let store = try fixture.make(["age": 1]).open()
        let person = KeyedStore<PersonKeys>(store)
        let woken = Recorder<String>()
        withObservationTracking {
            _ = person.age
        } onChange: {
            woken.record("age")
        }
        person.age = 1
        #expect(woken.elements.isEmpty)
        person.age = 2
        #expect(woken.elements == ["age"])
    }

    @Test("Reads are tracked before the first change of an entry, after it, and by several observers", arguments: [nil, 7])
    func tracked(stored: Int?) throws {
        let store = try ObservableStore(backend: InMemoryBackend(stored.map { ["age": .integer(PropertyListInteger(Int64($0)))] } ?? [:]))
        let age = store.stored(PersonKeys().age)
        let woken = Recorder<Int>()
        func track(_ number: Int) {
            withObservationTracking {
                _ = age.value
            } onChange: {
                woken.record(number)
            }
        }
        func expectWoken(_ numbers: [Int], by change: () -> Void) {
            let before = woken.elements.count
            change()
            #expect(woken.elements.dropFirst(before).sorted() == numbers)
        }
        track(1)
        track(2)
        expectWoken([1, 2]) { age.value = 1 }
        expectWoken([]) { age.value = 2 }
        track(3)
        expectWoken([3]) { age.remove() }
        track(4)
        age.value = 0
        age.value = 3
        #expect(woken.elements.count == 4)
        let untracked = store.stored(StorageKey("changed", default: 0))
        untracked.value = 1
        withObservationTracking {
            _ = untracked.value
        } onChange: {
            woken.record(5)
        }
        expectWoken([5]) { untracked.value = 2 }
    }

    @Test("A tracked read is remembered although its key is released, and other names are used and removed")
    func releasedKey() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let woken = Recorder<Int>()
        withObservationTracking {
            _ = store.stored(StorageKey("row", default: 0)).value
        } onChange: {
            woken.record(1)
        }
        for number in 0..<1_000 {
            let other = StorageKey("\(number)", default: 0)
            store[other] = 1
            store.remove(other)
        }
        store[StorageKey("row", default: 0)] = 1
        #expect(woken.elements == [1])
    }
}
