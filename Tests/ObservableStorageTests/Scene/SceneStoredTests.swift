import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private final class Person: SceneStoring {
    var sceneID: String?
    let base: ObservableStore
    var sceneStore: SceneStore? { sceneID.map { SceneStore(sceneID: $0, base: base) } }

    @SceneStored("age") var age = 24
    @SceneStored("height") var height: Double = 1.8
    @SceneStored("name") var name: String?
    @SceneStored("tags", codec: .json) var tags = ["none"]
    @SceneStored("account", codec: .json) var account: [String: Int]?
    @SceneStored(Keys.count) var count

    init(_ scene: String, _ base: ObservableStore) {
        sceneID = scene
        self.base = base
    }
}

private final class Standing: SceneStoring {
    let sceneID: String? = "one"
}

@Suite("Properties of scenes", .timeLimit(.minutes(10)))
struct SceneStoredTests {
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    @Test("A property has its initial value, the given default, or nil, until the scene sets it")
    func forms() throws {
        let person = Person("one", store)
        #expect(person.age == 24)
        #expect(person.height == 1.8)
        #expect(person.name == nil)
        #expect(person.tags == ["none"])
        #expect(person.account == nil)
        #expect(person.count == 0)
        #expect(store.entries.isEmpty)
        person.age += 1
        person.height = 1.9
        person.name = "Jo"
        person.tags.append("two")
        person.account = ["a": 1]
        person.count = 7
        #expect(Set(store.entries.keys) == Set(["age", "height", "name", "tags", "account", "count"].map { "scenes/one/\($0)" }))
        let again = Person("one", store)
        #expect(again.age == 25)
        #expect(again.height == 1.9)
        #expect(again.name == "Jo")
        #expect(again.tags == ["none", "two"])
        #expect(again.account == ["a": 1])
        #expect(again.count == 7)
        again.name = nil
        #expect(person.name == nil)
        person.$name.remove()
        #expect(!person.$name.isSet)
    }

    @Test("The scene is found through the instance, also after the instance moves to another scene")
    func scenes() {
        let (one, two) = (Person("one", store), Person("two", store))
        one.age = 1
        two.age = 2
        #expect([one.age, two.age] == [1, 2])
        one.sceneID = "two"
        #expect(one.age == 2)
        one.age = 3
        #expect(two.age == 3)
        #expect(Person("one", store).age == 1)
    }

    @Test("The projected value observes the property in its scene")
    func projection() async throws {
        let person = Person("one", store)
        let changes = person.$age.changes
        Person("two", store).age = 1
        person.age = 2
        #expect(await changes.first { _ in true }?.newValue == 2)
        #expect(await person.$age.values.first { _ in true } == 2)
    }

    @Test("Without another base, scenes belong to the standard store")
    func standard() {
        #expect(Standing().sceneStore?.base === ObservableStore.standard)
        #expect(Standing().sceneStore?.sceneID == "one")
    }
}
