import Testing

@testable import UserDefaultsStorage

/// Which names of user defaults are observed individually.
@Suite("User defaults: observed names", .timeLimit(.minutes(10)))
struct DefaultsObservationTests {
    private typealias Actions = DefaultsObservation.Actions

    @Test(
        "A name with a dot, one that begins with an at sign and an empty one cannot be observed",
        arguments: [
            ("volume", true), ("", false), ("com.example", false), (".", false), ("name.", false), ("@count", false), ("a@b", true),
            ("Größe", true), ("with space", true), ("\u{2024}", true),
        ])
    func observable(name: String, isObservable: Bool) {
        #expect(DefaultsObservation.isObservable(name) == isObservable)
    }

    @Test("Names that are stored or used are observed while there is a watch, each once")
    func watches() {
        var observation = DefaultsObservation()
        #expect(observation.beginUse() == Actions())
        #expect(observation.setStored(["b", "a", "x.y"]) == Actions())
        #expect(observation.beginWatch() == Actions(added: ["a", "b"]))
        #expect(observation.beginWatch() == Actions())
        #expect(observation.addUsed(["c", "b", "@d", "e.f", "c"]) == Actions(added: ["c"]))
        #expect(observation.setStored(["a", "b", "c"]) == Actions())
        #expect(observation.endWatch() == Actions())
        #expect(observation.endWatch() == Actions(removed: ["a", "b", "c"]))
        #expect(observation.observed.isEmpty)
        #expect(observation.endUse() == Actions())
        // What was used is known again when it is used by the next store.
        #expect(observation.setStored(["a"]) == Actions())
        #expect(observation.beginWatch() == Actions(added: ["a"]))
    }

    @Test("A name that a store has used before its watch begins is observed then, although the last watch has ended meanwhile")
    func usedBefore() {
        var observation = DefaultsObservation()
        _ = observation.beginUse()
        _ = observation.beginWatch()
        _ = observation.beginUse()
        #expect(observation.addUsed(["volume"]) == Actions(added: ["volume"]))
        #expect(observation.endWatch() == Actions(removed: ["volume"]))
        #expect(observation.endUse() == Actions())
        #expect(observation.beginWatch() == Actions(added: ["volume"]))
    }

    @Test("A name that is no longer stored is observed only as long as it is used, and one that appears is observed")
    func names() {
        var observation = DefaultsObservation()
        _ = observation.beginWatch()
        _ = observation.setStored(["kept", "gone"])
        _ = observation.addUsed(["kept"])
        #expect(observation.setStored(["new"]) == Actions(removed: ["gone"], added: ["new"]))
        #expect(observation.observed == ["kept", "new"])
        #expect(observation.setStored(["gone"]) == Actions(removed: ["new"], added: ["gone"]))
    }

    @Test("An observer is removed with the bytes with which it was added, whatever the normalization of the name is later")
    func normalization() {
        var observation = DefaultsObservation()
        _ = observation.beginWatch()
        #expect(observation.setStored(["e\u{301}"]).added.map { Array($0.utf8) } == [Array("e\u{301}".utf8)])
        #expect(observation.setStored(["\u{e9}"]) == Actions())
        #expect(observation.setStored([]).removed.map { Array($0.utf8) } == [Array("e\u{301}".utf8)])
    }

    @Test("Beyond a thousand names without a value, further ones are observed when they are stored")
    func limit() {
        var observation = DefaultsObservation()
        _ = observation.beginWatch()
        let names = (0..<1500).map { "name \($0)" }
        #expect(observation.addUsed(names).added.count == DefaultsObservation.maximumUnstored)
        #expect(observation.setStored(Set(names)).added.count == 500)
        // Used names that are stored do not count.
        _ = observation.addUsed(names)
        #expect(observation.addUsed(["unset"]).added == ["unset"])
    }

    @Test("After any sequence of events, exactly the wanted names are observed, and no observer was added or removed twice")
    func anySequence() {
        var generator = SystemRandomNumberGenerator()
        let names = (0..<8).map { $0 % 4 == 3 ? "dotted.\($0)" : "name \($0)" }
        for _ in 0..<200 {
            var observation = DefaultsObservation()
            var (active, watches, users, stored, used) = (Set<String>(), 0, 0, Set<String>(), Set<String>())
            for _ in 0..<40 {
                let some = names.filter { _ in Bool.random(using: &generator) }
                let actions: DefaultsObservation.Actions
                switch Int.random(in: 0..<6, using: &generator) {
                case 0:
                    watches += 1
                    actions = observation.beginWatch()
                case 1 where watches > 0:
                    watches -= 1
                    actions = observation.endWatch()
                case 2:
                    users += 1
                    actions = observation.beginUse()
                case 3 where users > 0:
                    users -= 1
                    if users == 0 { used = [] }
                    actions = observation.endUse()
                case 4:
                    used.formUnion(some)
                    actions = observation.addUsed(some)
                default:
                    stored = Set(some)
                    actions = observation.setStored(stored)
                }
                #expect(active.isSuperset(of: actions.removed) && active.isDisjoint(with: actions.added))
                active.subtract(actions.removed)
                active.formUnion(actions.added)
                #expect(active == (watches == 0 ? [] : stored.union(used).filter { !$0.contains(".") }))
            }
        }
    }
}
