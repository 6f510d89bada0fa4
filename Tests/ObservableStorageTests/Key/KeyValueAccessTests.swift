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
        #expect(access.string(forKey: "string") == "text")
        #expect(access.integer(forKey: "integer") == -7)
        #expect(access.double(forKey: "double") == 0.25)
        #expect(access.float(forKey: "float") == 0.5)
        #expect(access.bool(forKey: "bool") == true)
        #expect(access.data(forKey: "data") == Data([1, 2]))
        #expect(access.date(forKey: "date") == date)
        #expect(access.url(forKey: "url") == url)
        #expect(access.stringArray(forKey: "strings") == ["a", "b"])
        #expect(access.array(forKey: "array") == [1, "b"])
        #expect(access.dictionary(forKey: "dictionary") == ["a": true])
        #expect(access.value(UInt8.self, forKey: "byte") == 200)
        #expect(access.propertyListValue(forKey: "integer") == -7)
        // Nothing is converted.
        #expect(access.integer(forKey: "bool") == nil)
        #expect(access.bool(forKey: "integer") == nil)
        #expect(access.string(forKey: "missing") == nil)
        access.removeValue(forKey: "string")
        access.set(Int?.none, forKey: "integer")
        #expect(access.propertyListValue(forKey: "string") == nil)
        #expect(access.propertyListValue(forKey: "integer") == nil)
    }

    @Test("Stores, scenes and transactions read and write values of every type by name", arguments: Fixture.allCases)
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
}
