import TestSupport
import Testing

@testable import ObservableStorage

private final class Model {}
private final class Plain {}

@Suite("Object of a property", .timeLimit(.minutes(10)))
struct PropertyOwnerTests {
    private let owner = PropertyOwner()
    private let events = Recorder<String>()

    private func link(_ object: AnyObject, _ name: String) -> PropertyOwner.Link? {
        owner.link(of: object) { [events] in
            events.record("link \(name)")
            return (
                willSet: {}, token: ObservationToken { events.record("end \(name)") }, lifetime: WeakReference(object)
            )
        }
    }

    @Test("An object is linked by its first access, once, and an object that is not notified is asked once for its type")
    func once() {
        let (model, plain) = (Model(), Plain())
        let first = link(model, "model")
        #expect(first != nil)
        #expect(link(model, "again")?.token === first?.token)
        for _ in 0..<3 {
            let none = owner.link(of: plain) { [events] in
                events.record("asked")
                return nil
            }
            #expect(none == nil)
        }
        #expect(link(model, "later")?.token === first?.token)
        #expect(events.elements == ["link model", "asked"])
    }

    @Test("Objects with copies of one property are linked separately, and links of released ones end with the next new link")
    func copies() {
        let kept = Model()
        var released: Model? = Model()
        _ = link(kept, "kept")
        _ = link(released!, "released")
        released = nil
        #expect(events.elements == ["link kept", "link released"])
        let other = Plain()
        _ = link(other, "other")
        #expect(events.elements.last == "end released")
        _ = link(kept, "again")
        #expect(events.elements == ["link kept", "link released", "link other", "end released"])
        withExtendedLifetime((kept, other)) {}
    }

    @Test("The property does not retain the object, and the subscription ends with the property")
    func lifetime() {
        var property: PropertyOwner? = PropertyOwner()
        var model: Model? = Model()
        weak let observed = model
        let publisher = Plain()
        _ = property?.link(of: model!) { [events] in
            (willSet: {}, token: ObservationToken { events.record("end") }, lifetime: WeakReference(publisher))
        }
        model = nil
        #expect(observed == nil)
        property = nil
        #expect(property == nil && events.elements == ["end"])
        withExtendedLifetime(publisher) {}
    }

    private final class Ending {
        private let onEnd: (Ending) -> Void

        init(_ onEnd: @escaping (Ending) -> Void) {
            self.onEnd = onEnd
        }

        deinit {
            onEnd(self)
        }
    }

    @Test("An object that uses its property in its deinit first is linked once, for which no weak reference to the object is formed")
    func ending() {
        let publisher = Plain()
        var object: Ending? = Ending { [owner, events] object in
            for name in ["first", "second"] {
                let link = owner.link(of: object) {
                    events.record(name)
                    return (willSet: {}, token: ObservationToken {}, lifetime: WeakReference(publisher))
                }
                #expect(link != nil)
            }
        }
        object = nil
        #expect(object == nil && events.elements == ["first"])
        withExtendedLifetime(publisher) {}
    }

    @Test("Many threads that access an object first have one link")
    func race() async {
        let model = SharedModel()
        let tokens = Recorder<ObjectIdentifier>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { [self] in
                    if let link = link(model, "\(number)") { tokens.record(ObjectIdentifier(link.token)) }
                }
            }
        }
        #expect(tokens.elements.count == 8 && Set(tokens.elements).count == 1)
        #expect(events.elements.filter { $0.hasPrefix("link") }.count == events.elements.filter { $0.hasPrefix("end") }.count + 1)
    }

    private final class SharedModel: Sendable {}

    @Test("A value that is set or modified with a muted subscription reaches the others only, and an invalid one is kept")
    func muting() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let (own, others) = (Recorder<Int>(), Recorder<Int>())
        let token = store.addUpdateListener(for: Keys.count) { own.record($0.newValue) }
        let other = store.addUpdateListener(for: Keys.count) { others.record($0.newValue) }
        store[Keys.count, muting: token] = 1
        store[Keys.count, muting: token] += 1
        store[Keys.count, muting: nil] += 1
        #expect(own.elements == [3] && others.elements == [1, 2, 3])
        store[StorageKey<String?>("count")] = "text"
        store[Keys.count, muting: token] += 1
        #expect(store[StorageKey<String?>("count")] == "text")
        withExtendedLifetime(other) {}
    }
}
