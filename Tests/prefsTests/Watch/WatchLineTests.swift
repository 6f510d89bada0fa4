import Foundation
import ObservableStorage
import PropertyListCoding
import Testing

@testable import prefs

@Suite("Output lines of watch", .timeLimit(.minutes(10)))
struct WatchLineTests {
    private let plain = Output(descriptor: STDOUT_FILENO, isColoured: false)

    private func change(_ key: String, _ old: PropertyListValue?, _ new: PropertyListValue?) -> WatchLine {
        WatchLine(Change(key: key, oldValue: old, newValue: new, kind: new == nil ? .removed : .set, origin: .external, revision: 7))
    }

    @Test("A text line has the old value, the new value, the origin and the time")
    func text() {
        #expect(change("volume", 0.3, 0.5).text(for: plain) == "volume: 0.3 -> 0.5  (external, revision 7)")
        #expect(change("a b", nil, "x\ny").text(for: plain) == #""a b": (none) -> "x\ny"  (external, revision 7)"#)
        #expect(change("a", [1], nil).text(for: plain) == "a: [1] -> (removed)  (external, revision 7)")
        #expect(WatchLine(key: "a", new: 1, revision: 0).text(for: plain) == "a: 1  (initial, revision 0)")
        #expect(WatchLine(key: "a", new: nil, revision: 0).text(for: plain) == "a: (none)  (initial, revision 0)")
    }

    @Test("A JSON line has the same fields, with null for a missing value")
    func json() {
        #expect(
            change("a\n", nil, 1.0).json
                == #"{"key":"a\n","old":null,"new":1.0,"kind":"set","origin":"external","revision":7,"storageRevision":null}"#)
        #expect(
            change("a", 1, nil).json
                == #"{"key":"a","old":1,"new":null,"kind":"removed","origin":"external","revision":7,"storageRevision":null}"#)
        #expect(
            WatchLine(key: "a", new: 1, revision: 0).json
                == #"{"key":"a","old":null,"new":1,"kind":"initial","origin":null,"revision":0,"storageRevision":null}"#)
    }

    @Test("The revision of the file replaces the number of the change in text, and is a separate field in JSON")
    func storageRevision() {
        var line = change("volume", 0.3, 0.5)
        line.storageRevision = StorageRevision(history: "5d41402a", number: 17)
        #expect(line.text(for: plain) == "volume: 0.3 -> 0.5  (external, revision 5d41402a-17)")
        #expect(line.json.hasSuffix(#","origin":"external","revision":7,"storageRevision":"5d41402a-17"}"#))
        let change = Change<PropertyListValue?>(
            key: "a", oldValue: 1, newValue: nil, kind: .removed, origin: .external, revision: 7, storageRevision: line.storageRevision)
        #expect(WatchLine(change).storageRevision == line.storageRevision)
    }

    @Test("Colors change nothing but the color")
    func colours() {
        let line = change("volume", 0.3, 0.5).text(for: Output(descriptor: STDOUT_FILENO, isColoured: true))
        #expect(line.contains("\u{1b}["))
        #expect(line.replacing(/\x1b\[[0-9;]*m/, with: "") == "volume: 0.3 -> 0.5  (external, revision 7)")
    }
}
