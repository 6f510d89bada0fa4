import Testing

@testable import ObservableStorage

@Suite("Scene and waiting value of a property", .timeLimit(.minutes(10)))
struct ScenePropertyTests {
    private typealias Property = SceneProperty<String, Int>

    /// An access in words.
    private func access(_ property: inout Property) -> String {
        switch property.access() {
        case .stored: "stored"
        case .waiting(let value): "waiting \(value)"
        case .move(let waiting): "move \(waiting.value) \(waiting.number)"
        }
    }

    @Test("Before there is a scene, the last written value waits; it is moved by the first access after there is one")
    func waiting() {
        var property = Property()
        #expect(access(&property) == "stored")
        #expect(property.keep(1) == (true, nil))
        #expect(property.keep(2) == (true, 1))
        #expect(access(&property) == "waiting 2")
        #expect(property.unsaved == 2)
        #expect(property.enter("one") == nil)
        #expect(access(&property) == "move 2 2")
        #expect(property.moved(2) == 2)
        #expect(access(&property) == "stored")
        #expect(property.unsaved == nil)
        #expect(property.keep(3) == (false, nil))
    }

    @Test("While one call moves a value, others read it, and what they write is moved next, by the same call")
    func moving() {
        var property = Property()
        _ = property.keep(1)
        _ = property.enter("one")
        #expect(access(&property) == "move 1 1")
        #expect(access(&property) == "waiting 1")
        #expect(property.keep(2) == (true, 1))
        #expect(access(&property) == "waiting 2")
        #expect(property.moved(1) == nil)
        #expect(access(&property) == "move 2 2")
        #expect(property.moved(2) == 2)
        #expect(access(&property) == "stored")
    }

    @Test("A value that is written after there was a scene never waits")
    func lastScene() {
        var property = Property()
        #expect(property.enter("one") == nil)
        #expect(property.keep(1) == (false, nil))
        #expect(property.enter("two") == "one")
        #expect(property.keep(1) == (false, nil))
        #expect(property.scene == "two")
    }
}
