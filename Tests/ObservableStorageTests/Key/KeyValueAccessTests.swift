import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Access by name", .timeLimit(.minutes(10)))
struct KeyValueAccessTests {
    private static let url = URL(filePath: "/tmp/a b")
    // A whole second, which every format preserves.
    private static let date = Date(timeIntervalSinceReferenceDate: 5)

    /// Sets and reads a value of each type.
    private static func check(_ access: some KeyValueAccess) {
        access.set("text", forKey: "string")
        access.set(-7, forKey: "integer")
        access.set(0.25, forKey: "double")
        access.set(Float(0.5), forKey: "float")
        access.set(true, forKey: "bool")
        access.set(Data([1, 2]), forKey: "data")
        access.set(date, forKey: "date")
        access.set(url, forKey: "url")
        access.set(["a", "b"], forKey: "strings")
        access.set([PropertyListValue.integer(1), "b"], forKey: "array")
        access.set(["a": PropertyListValue.boolean(true)], forKey: "dictionary")
        access.set(UInt8(200), forKey: "byte")
        #expect(access.value(String.self, forKey: "string") == "text")
        #expect(access.value(Int.self, forKey: "integer") == -7)
        #expect(access.value(Double.self, forKey: "double") == 0.25)
        #expect(access.value(Float.self, forKey: "float") == 0.5)
        #expect(access.value(Bool.self, forKey: "bool") == true)
        #expect(access.value(Data.self, forKey: "data") == Data([1, 2]))
        #expect(access.value(Date.self, forKey: "date") == date)
        #expect(access.value(URL.self, forKey: "url") == url)
        #expect(access.value([String].self, forKey: "strings") == ["a", "b"])
        #expect(access.value([PropertyListValue].self, forKey: "array") == [1, "b"])
        #expect(access.value([String: PropertyListValue].self, forKey: "dictionary") == ["a": true])
        #expect(access.value(UInt8.self, forKey: "byte") == 200)
        #expect(access.value(PropertyListValue.self, forKey: "integer") == -7)
        // Nothing is converted.
        #expect(access.value(Int.self, forKey: "bool") == nil)
        #expect(access.value(Bool.self, forKey: "integer") == nil)
        #expect(access.value(String.self, forKey: "missing") == nil)
        access.removeValue(forKey: "string")
        access.set(Int?.none, forKey: "integer")
        #expect(access.value(PropertyListValue.self, forKey: "string") == nil)
        #expect(access.value(PropertyListValue.self, forKey: "integer") == nil)
    }

    @Test("Stores, scenes and transactions read and write values of every type by name", arguments: Fixture.ofEveryType)
    func everyType(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        Self.check(store)
        #expect(store.entries.count == 10)
        Self.check(SceneStore(sceneID: "one", base: store))
        // The scene has also stored nil, which hides the application's value.
        #expect(store.entries.count == 21)
        store.reset()
        try await store.update { Self.check($0) }
        #expect(store.entries.count == 10)
    }

    @Test("A scene reads values of the types that UserDefaults has by their names, and nothing else")
    func typedReads() throws {
        let scene = SceneStore(sceneID: "one", base: try ObservableStore(backend: InMemoryBackend()))
        let entries: [String: PropertyListValue] = [
            "string": "text", "integer": -7, "double": 0.25, "float": 0.5, "bool": true, "data": .data(Data([1, 2])),
            "url": .string(Self.url.absoluteString), "strings": ["a", "b"], "array": [1, "b"], "dictionary": ["a": true],
        ]
        for (name, value) in entries { scene.set(value, forKey: name) }
        #expect(scene.value(String.self, forKey: "string") == "text")
        #expect(scene.value(Int.self, forKey: "integer") == -7)
        #expect(scene.value(Double.self, forKey: "double") == 0.25)
        #expect(scene.value(Float.self, forKey: "float") == 0.5)
        #expect(scene.value(Bool.self, forKey: "bool") == true)
        #expect(scene.value(Data.self, forKey: "data") == Data([1, 2]))
        #expect(scene.value(URL.self, forKey: "url") == Self.url)
        #expect(scene.value([String].self, forKey: "strings") == ["a", "b"])
        #expect(scene.value([PropertyListValue].self, forKey: "array") == [1, "b"])
        #expect(scene.value([String: PropertyListValue].self, forKey: "dictionary") == ["a": true])
        #expect(scene.value(Int.self, forKey: "bool") == nil)
        #expect(scene.value(String.self, forKey: "missing") == nil)
    }
}
