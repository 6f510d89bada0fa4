import PropertyListCoding
import Testing

@testable import prefs

@Suite("The table of prefs watch", .timeLimit(.minutes(10)))
struct WatchTableTests {
    private let plain = Output(descriptor: 1, isColoured: false)

    private func change(_ key: String, _ old: PropertyListValue?, _ new: PropertyListValue?, revision: UInt64) -> WatchTable.Event {
        .change(WatchLine(key: key, old: old, new: new, origin: "external", revision: revision), time: "12:00:0\(revision)")
    }

    private func table(_ events: WatchTable.Event..., keys: [String]? = nil) -> [String] {
        var table = WatchTable(title: "f.plist", entries: ["b": 1, "a": "x\ny"], keys: keys)
        for event in events { table.apply(event) }
        return table.lines(plain)
    }

    @Test("All entries are shown, sorted, without marks at first")
    func start() {
        #expect(
            table() == [
                "f.plist", "  a  \"x\\ny\"  ", "  b  1       ", "2 keys, revision 0, Ctrl-C ends",
            ])
    }

    @Test("The rows of the last change are marked, with time, origin and old value; earlier ones keep these without a mark")
    func marks() {
        #expect(
            table(change("b", 1, 2, revision: 1), change("c", nil, 3, revision: 2), change("a", "x\ny", 4, revision: 2)) == [
                "f.plist", #"* a  4  12:00:02 external, was "x\ny""#, "  b  2  12:00:01 external, was 1",
                "* c  3  12:00:02 external, was (none)",
                "3 keys, revision 2, Ctrl-C ends",
            ])
    }

    @Test("A removed key is shown until the next change")
    func removal() {
        let removal = change("b", 1, nil, revision: 1)
        #expect(table(removal)[2] == "* b  (removed)  12:00:01 external, was 1")
        #expect(table(removal, change("a", "x\ny", 4, revision: 2)).count == 3)
    }

    @Test("Named keys are shown in their order, set or not, also after they were removed")
    func namedKeys() {
        let lines = table(change("b", 1, nil, revision: 1), change("b", nil, 5, revision: 2), keys: ["z", "b"])
        #expect(lines == ["f.plist", "  z  (none)  ", "* b  5       12:00:02 external, was (none)", "2 keys, revision 2, Ctrl-C ends"])
    }

    @Test("A failure is shown until the next change")
    func failure() {
        #expect(table(.failure("f.plist: gone")).last == "f.plist: gone")
        #expect(table(.failure("f.plist: gone"), change("b", 1, 2, revision: 1)).last == "2 keys, revision 1, Ctrl-C ends")
    }

    @Test("The lines fit the width and the height of the terminal", arguments: [1, 2, 7, 10, 40, 200], [0, 1, 2, 3, 10])
    func size(columns: Int, rows: Int) {
        var table = WatchTable(
            title: String(repeating: "t", count: 50),
            entries: ["漢字漢字漢字": "漢字漢字漢字漢字", "e\u{301}": .string(String(repeating: "👩‍👩‍👧", count: 99))],
            keys: nil)
        table.apply(.size(columns: columns, rows: rows))
        for revision in 1...20 {
            table.apply(change("k\(revision)", nil, .string(String(repeating: "v", count: 300)), revision: UInt64(revision)))
        }
        let lines = table.lines(plain)
        #expect(lines.count <= rows)
        #expect(lines.allSatisfy { $0.width <= columns })
    }

    @Test("A change of a key outside the screen scrolls to it, and a larger terminal shows more")
    func scrolling() {
        var table = WatchTable(title: "f", entries: Dictionary(uniqueKeysWithValues: (10..<60).map { ("k\($0)", 1) }), keys: nil)
        table.apply(.size(columns: 80, rows: 12))
        #expect(table.lines(plain).last == "keys 1-10 of 50, revision 0, Ctrl-C ends")
        table.apply(change("k45", 1, 2, revision: 1))
        #expect(table.lines(plain).contains { $0.hasPrefix("* k45") })
        #expect(table.lines(plain).last == "keys 27-36 of 50, revision 1, Ctrl-C ends")
        table.apply(change("k12", 1, 2, revision: 2))
        #expect(table.lines(plain).last == "keys 3-12 of 50, revision 2, Ctrl-C ends")
        table.apply(.size(columns: 80, rows: 52))
        #expect(table.lines(plain).last == "50 keys, revision 2, Ctrl-C ends")
    }

    @Test("A text is cut to a width with an ellipsis, and wide characters count twice")
    func width() {
        #expect("漢a\u{301}".width == 3)
        #expect("abc".fitted(to: 3) == "abc")
        #expect("abcd".fitted(to: 3) == "ab…")
        #expect("漢字".fitted(to: 3) == "漢…")
        #expect("a".fitted(to: 0) == "")
    }
}
