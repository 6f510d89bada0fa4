import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Replay of edit logs", .timeLimit(.minutes(10)))
struct EditReplayTests {
    private func replay(
        _ edits: [LoggedEdit], over stored: [String: PropertyListValue]
    ) -> (values: [String: PropertyListValue], conflicts: [String]) {
        let replay = EditReplay(edits) { stored[$0] }
        var values = stored
        for (key, value) in replay.changes { values[key] = value }
        return (values, replay.conflicts)
    }

    @Test("A stored value of the chain is followed by the last one", arguments: [1, 2, 3, 4] as [PropertyListValue])
    func inChain(stored: PropertyListValue) {
        let result = replay(EditLogFixture.chain("k", from: 1, [2, 3, 4]), over: ["k": stored, "other": 9])
        #expect(result.values == ["k": 4, "other": 9])
        #expect(result.conflicts.isEmpty)
    }

    @Test("A stored value that is not of the chain wins, and is told", arguments: [nil, 9] as [PropertyListValue?])
    func foreign(stored: PropertyListValue?) {
        let before = stored.map { ["k": $0] } ?? [:]
        let result = replay(EditLogFixture.chain("k", from: 1, [2, 3, 4]), over: before)
        #expect(result.values == before)
        #expect(result.conflicts == ["k"])
    }

    @Test("Only the last unbroken part of a chain counts")
    func brokenChain() {
        let edits = EditLogFixture.chain("k", from: 1, [2]) + EditLogFixture.chain("k", from: 7, [8])
        #expect(replay(edits, over: ["k": 7]).values == ["k": 8])
        #expect(replay(edits, over: ["k": 1]).conflicts == ["k"])
    }

    /// The edits that one closure made.
    private func together(_ sequence: UInt64, _ edits: [(key: String, old: PropertyListValue?, new: PropertyListValue?)]) -> [LoggedEdit] {
        edits.map { LoggedEdit(key: $0.key, over: $0.old.fingerprint, value: $0.new, sequence: sequence, isAlone: edits.count == 1) }
    }

    @Test("Of the edits of one closure all are made, or none if somebody else has changed one of their values")
    func allOrNone() {
        let edits = together(1, [("a", 1, 2), ("b", 1, 2), ("c", 1, 2)])
        #expect(replay(edits, over: ["a": 1, "b": 1, "c": 1]).values == ["a": 2, "b": 2, "c": 2])
        let result = replay(edits, over: ["a": 1, "b": 9, "c": 1])
        #expect(result.values == ["a": 1, "b": 9, "c": 1])
        #expect(result.conflicts == ["a", "b", "c"])
    }

    @Test("Edits that were made before and after those of a closure that do not count are made")
    func aroundOthers() {
        let before = together(1, [("a", 1, 2)])
        let closure = together(2, [("a", 2, 3), ("b", 1, 2), ("c", 1, 2)])
        let after = together(3, [("c", 2, 3), ("d", 1, 2)])
        let result = replay(before + closure + after, over: ["a": 1, "b": 9, "c": 1, "d": 1])
        #expect(result.values == ["a": 2, "b": 9, "c": 3, "d": 2])
        #expect(result.conflicts == ["a", "b"])
        // What is stored already stays.
        #expect(replay(before + closure, over: ["a": 3, "b": 9, "c": 1]).values == ["a": 3, "b": 9, "c": 1])
    }

    @Test("What was made over an edit that does not count does not count, with everything that was made with it, however long the chain is")
    func overOthers() {
        let first = together(1, [("a", 0, ["x": 1]), ("b", 1, 2)])
        let second = [
            LoggedEdit(key: "a", path: ["x"], over: PropertyListValue?.some(1).fingerprint, value: ["y": 1], sequence: 2, isAlone: false),
            LoggedEdit(key: "c", over: PropertyListValue?.none.fingerprint, value: ["x": 1], sequence: 2, isAlone: false),
        ]
        let third = [
            LoggedEdit(key: "c", path: ["x"], over: PropertyListValue?.some(1).fingerprint, value: 2, sequence: 3, isAlone: false),
            LoggedEdit(key: "d", over: PropertyListValue?.none.fingerprint, value: 5, sequence: 3, isAlone: false),
        ]
        let last = together(4, [("e", nil, 6)])
        #expect(
            replay(first + second + third + last, over: ["a": 0, "b": 1]).values == [
                "a": ["x": ["y": 1]], "b": 2, "c": ["x": 2], "d": 5, "e": 6,
            ])
        let result = replay(first + second + third + last, over: ["a": 0, "b": 9])
        #expect(result.values == ["a": 0, "b": 9, "e": 6])
        #expect(result.conflicts == [".a.x", ".c.x", "a", "b", "c", "d"])
    }

    @Test("Of a closure of which one value cannot be stored, no edit is made, and the reason is told")
    func rejected() {
        let edits = together(1, [("a", 1, 2), ("b", 1, .uid(1))]) + together(2, [("c", 1, 2)]) + together(3, [("d", 1, .uid(1))])
        func reason(_ key: String) -> StorageError { .unencodable(key: key, reason: "XML has no UID") }
        let replay = EditReplay(edits) { _ in
            1
        } rejecting: { key, value in
            value == .uid(1) ? reason(key) : nil
        }
        #expect(replay.changes == ["c": 2])
        #expect(replay.rejections == ["b": reason("b"), "d": reason("d")])
        #expect(replay.conflicts == ["a", "b"])
    }

    @Test("The same holds for values inside dictionaries")
    func leavesAllOrNone() {
        let one = PropertyListValue?.some(1).fingerprint
        let edits = [
            LoggedEdit(key: "d", path: ["a"], over: one, value: 2, sequence: 1, isAlone: false),
            LoggedEdit(key: "d", path: ["b"], over: one, value: 2, sequence: 1, isAlone: false),
            LoggedEdit(key: "k", over: one, value: 2, sequence: 1, isAlone: false),
        ]
        #expect(replay(edits, over: ["d": ["a": 1, "b": 1], "k": 1]).values == ["d": ["a": 2, "b": 2], "k": 2])
        let result = replay(edits, over: ["d": ["a": 1, "b": 9], "k": 1])
        #expect(result.values == ["d": ["a": 1, "b": 9], "k": 1])
        #expect(result.conflicts == [".d.a", ".d.b", "k"])
    }

    @Test("Removals and new entries are replayed")
    func removals() {
        let edits = EditLogFixture.chain("gone", from: 1, [nil]) + EditLogFixture.chain("new", from: nil, [1, nil, 2])
        #expect(replay(edits, over: ["gone": 1]).values == ["new": 2])
    }

    @Test("A value inside a dictionary is replayed alone, and others in it are kept")
    func leaves() {
        let edits = EditLogFixture.chain("d", from: 1, [2], path: ["a", "b"])
        #expect(replay(edits, over: ["d": ["a": ["b": 1, "c": 5]]]).values == ["d": ["a": ["b": 2, "c": 5]]])
        let foreign = replay(edits, over: ["d": ["a": ["b": 7]]])
        #expect(foreign.values == ["d": ["a": ["b": 7]]])
        #expect(foreign.conflicts == [".d.a.b"])
        #expect(replay(edits, over: ["d": "text"]).conflicts == [".d.a.b"])
    }

    @Test("An edit of the whole entry follows those of values inside it, also when it is stored already")
    func leavesThenWhole() {
        let edits =
            EditLogFixture.chain("d", from: 1, [2], path: ["a"]) + EditLogFixture.chain("d", from: ["a": 2, "b": 1], [["z": 1]])
        for stored in [["a": 1, "b": 1], ["a": 2, "b": 1], ["z": 1]] as [PropertyListValue] {
            let result = replay(edits, over: ["d": stored])
            #expect(result.values == ["d": ["z": 1]])
            #expect(result.conflicts.isEmpty)
        }
    }

    @Test("An edit of a dictionary inside an entry follows those of values inside that")
    func overlappingPaths() {
        // Several entries, because the order in which a dictionary has the paths varies.
        let names = (0..<20).map { "d\($0)" }
        let edits = names.flatMap {
            EditLogFixture.chain($0, from: 1, [2], path: ["a", "b"])
                + EditLogFixture.chain($0, from: ["b": 2], [["b": 5, "c": 1]], path: ["a"])
        }
        for stored in [["b": 1], ["b": 2], ["b": 5, "c": 1]] as [PropertyListValue] {
            let result = replay(edits, over: Dictionary(uniqueKeysWithValues: names.map { ($0, ["a": stored, "z": 1]) }))
            #expect(result.values.values.allSatisfy { $0 == ["a": ["b": 5, "c": 1], "z": 1] })
            #expect(result.conflicts.isEmpty)
        }
    }

    @Test("A date that XML has rounded is found in the chain, also if the list was converted since")
    func rounding() {
        let exact = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: 0.75))
        let edits = EditLogFixture.chain("k", from: 1, [exact, 2])
        #expect(replay(edits, over: ["k": exact.rounded(for: .xml)]).values == ["k": 2])
    }

    @Test("Replaying twice equals once")
    func twice() {
        let edits = EditLogFixture.chain("k", from: 1, [2, 1, 3]) + EditLogFixture.chain("d", from: nil, [4, 5], path: ["a"])
        let once = replay(edits, over: ["k": 1]).values
        #expect(replay(edits, over: once).values == once)
        #expect(once == ["k": 3, "d": ["a": 5]])
    }
}
