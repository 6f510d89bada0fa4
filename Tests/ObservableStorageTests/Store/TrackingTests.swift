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
}
