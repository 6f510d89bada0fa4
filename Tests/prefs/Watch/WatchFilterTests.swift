import ObservableStorage
import PropertyListCoding
import Testing

@testable import prefs

@Suite("Which changes a watch tells", .timeLimit(.minutes(5)))
struct WatchFilterTests {
    private func isTold(_ key: String, _ revision: UInt64, keys: [String]) -> Bool {
        let change = Change<PropertyListValue?>(key: key, oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: revision)
        return WatchFilter(keys: keys, after: 7).line(for: change) != nil
    }

    @Test("What the snapshot shows already is not told again")
    func revisions() {
        #expect([6, 7, 8, 9].map { isTold("a", $0, keys: []) } == [false, false, true, true])
    }

    @Test("Only the named keys are told, or all when none is named")
    func keys() {
        #expect(isTold("a", 8, keys: ["a", "b"]))
        #expect(!isTold("c", 8, keys: ["a", "b"]))
        #expect(isTold("c", 8, keys: []))
    }
}
