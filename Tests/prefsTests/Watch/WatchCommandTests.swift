import ObservableStorage
import PropertyListCoding
import Testing

@testable import prefs

@Suite("Which changes a watch prints", .timeLimit(.minutes(10)))
struct WatchCommandTests {
    private func isPrinted(_ key: String, _ revision: UInt64, keys: [String]) throws -> Bool {
        let change = Change<PropertyListValue?>(key: key, oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: revision)
        return try WatchCommand(Arguments(operands: ["settings.plist"] + keys)).line(for: change, after: 7) != nil
    }

    @Test("A change that the snapshot includes is not printed again")
    func revisions() throws {
        #expect(try [6, 7, 8, 9].map { try isPrinted("a", $0, keys: []) } == [false, false, true, true])
    }

    @Test("Changes of the named keys are printed, or of all if none is named")
    func keys() throws {
        #expect(try isPrinted("a", 8, keys: ["a", "b"]))
        #expect(try !isPrinted("c", 8, keys: ["a", "b"]))
        #expect(try isPrinted("c", 8, keys: []))
    }
}
