import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Histories") struct HistoryTests {
    typealias Mark = History.Mark

    /// Two writers of one store, one of another store, and observers, all consistent.
    static let whole: History = {
        var history = History()
        history.start = ["a": Mark("old", 1).value]
        history.group = ["x", "y"]
        history.others = ["far"]
        history.changes = [
            step("a", Mark("old", 1), Mark("near", 1), 1), step("x", nil, Mark("near", 2), 2), step("y", nil, Mark("near", 2), 2),
            step("b", nil, Mark("far", 3), 3, .external), step("x", Mark("near", 2), Mark("far", 4), 3, .external),
            step("y", Mark("near", 2), Mark("far", 4), 3, .external), step("a", Mark("near", 1), Mark("next", 1), 4),
            step("a", Mark("next", 1), nil, 5), step("a", nil, Mark("near", 3), 6), step("b", Mark("far", 3), Mark("far", 5), 7, .external),
        ]
        history.end = ["a": Mark("near", 3).value, "b": Mark("far", 5).value, "x": Mark("far", 4).value, "y": Mark("far", 4).value]
        history.writes = [
            "near": [
                .init(mark: Mark("near", 1), keys: ["a"]), .init(mark: Mark("near", 2), keys: ["x", "y"]),
                .init(mark: Mark("near", 3), keys: ["a"]),
            ], "next": [.init(mark: Mark("next", 1), keys: ["a"])],
        ]
        let steps = history.changes.filter { $0.key == "a" }
        let initial = step("a", Mark("near", 1), Mark("near", 1), 3)
        history.views = [
            .init(name: "changes", key: "a", changes: steps, hasInitial: false, isFromStart: true, isToEnd: true),
            .init(name: "late", key: "a", changes: [initial] + steps[1...], hasInitial: true, isFromStart: false, isToEnd: true),
            .init(name: "short", key: "a", changes: Array(steps[1...2]), hasInitial: false, isFromStart: false, isToEnd: false),
        ]
        let values = [Mark("old", 1).value, Mark("near", 1).value, nil, Mark("near", 3).value]
        history.readings = [.init(name: "values", key: "a", values: values, isToEnd: true)]
        return history
    }()

    private static func step(_ key: String, _ old: Mark?, _ new: Mark?, _ revision: UInt64, _ origin: ChangeOrigin = .local)
        -> History.Step
    {
        Change(
            key: key, oldValue: old?.value, newValue: new?.value, kind: new == nil ? .removed : .set, origin: origin, revision: revision)
    }

    @Test("A consistent one is accepted")
    func flawless() {
        #expect(Self.whole.violations.map(\.description) == [])
    }

    @Test("An inconsistent one is rejected", arguments: flaws)
    func flawed(_ flaw: Flaw) {
        var history = Self.whole
        flaw.make(&history)
        let rules = history.violations.map(\.rule)
        #expect(rules.contains(flaw.rule), "\(history.violations)")
    }

    struct Flaw: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rule: History.Violation.Rule
        let make: @Sendable (inout History) -> Void

        init(_ description: String, _ rule: History.Violation.Rule, _ make: @escaping @Sendable (inout History) -> Void) {
            (testDescription, self.rule, self.make) = (description, rule, make)
        }
    }

    static let flaws = [
        Flaw("a change that is lost", .chain) { $0.changes.remove(at: 6) },
        Flaw("a write that is lost", .completeness) { $0.changes.remove(at: 6) },
        Flaw("a write that nobody sees", .completeness) { $0.writes["next"]?.append(.init(mark: Mark("next", 2), keys: ["c"])) },
        Flaw("half of a transaction that is lost", .completeness) { $0.changes.remove(at: 2) },
        Flaw("a state with half of a transaction in it", .atomicity) { $0.changes[2] = step("y", nil, Mark("near", 2), 3) },
        Flaw("half of another store's transaction", .atomicity) {
            $0.changes[5] = step("y", Mark("near", 2), Mark("far", 4), 4, .external)
        },
        Flaw("another's change inside a transaction", .atomicity) { $0.changes.insert(step("c", nil, Mark("next", 0), 2), at: 2) },
        Flaw("a change that comes twice", .once) { $0.changes.insert($0.changes[0], at: 1) },
        Flaw("a write that comes twice", .once) { $0.changes.append(step("a", Mark("near", 3), Mark("near", 1), 8)) },
        Flaw("another store's write that comes twice", .once) {
            $0.changes += [step("b", Mark("far", 5), nil, 8, .external), step("b", nil, Mark("far", 5), 9, .external)]
        },
        Flaw("another store's writes in another order", .order) {
            $0.changes.append(step("b", Mark("far", 5), Mark("far", 3), 8, .external))
        },
        Flaw("changes that change places", .order) { $0.changes.swapAt(6, 7) },
        Flaw("a writer's writes in another order", .order) { $0.writes["near"]?.swapAt(0, 1) },
        Flaw("an old value that was not there", .chain) { $0.changes[6] = step("a", Mark("old", 1), Mark("next", 1), 4) },
        Flaw("a change of nothing", .chain) { $0.changes.append(step("b", Mark("far", 5), Mark("far", 5), 8)) },
        Flaw("a removal that is said to be a setting", .chain) {
            $0.changes[7] = Change(key: "a", oldValue: Mark("next", 1).value, newValue: nil, kind: .set, origin: .local, revision: 5)
        },
        Flaw("a last value that nobody was told", .lastValue) { $0.end["a"] = Mark("near", 4).value },
        Flaw("a value that nobody wrote", .origin) { $0.changes.append(step("c", nil, Mark("nobody", 1), 8)) },
        Flaw("a local change that is said to be external", .origin) {
            $0.changes[0] = step("a", Mark("old", 1), Mark("near", 1), 1, .external)
        },
        Flaw("an external change that is said to be local", .origin) { $0.changes[9] = step("b", Mark("far", 3), Mark("far", 5), 7) },
        Flaw("an observer that misses a change", .completeness) { $0.views[0].changes.remove(at: 1) },
        Flaw("an observer that misses the first change", .completeness) { $0.views[0].changes.remove(at: 0) },
        Flaw("an observer that misses the last change", .lastValue) { $0.views[0].changes.removeLast() },
        Flaw("an observer that is told twice", .once) { $0.views[2].changes.append($0.views[2].changes[0]) },
        Flaw("an observer that is told what did not happen", .origin) { $0.views[2].changes[1] = step("a", nil, Mark("next", 1), 5) },
        Flaw("an initial value that is not the one of its revision", .chain) {
            $0.views[1].changes[0] = step("a", Mark("old", 1), Mark("old", 1), 3)
        },
        Flaw("a change between the initial value and the first one told", .completeness) { $0.views[1].changes.remove(at: 1) },
        Flaw("a change that the initial value had in it already", .completeness) {
            $0.views[1].changes.insert($0.views[0].changes[0], at: 1)
        },
        Flaw("no initial value", .completeness) { $0.views[1].changes = [] },
        Flaw("a reader that goes back", .order) { $0.readings[0].values.swapAt(0, 1) },
        Flaw("a reader of what nobody wrote", .origin) { $0.readings[0].values[1] = Mark("near", 9).value },
        Flaw("a reader that does not get the last value", .lastValue) { $0.readings[0].values.removeLast() },
    ]
}
