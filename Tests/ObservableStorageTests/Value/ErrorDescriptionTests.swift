import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("Descriptions of errors", .timeLimit(.minutes(10)))
struct ErrorDescriptionTests {
    private static let hostile = "\u{1b}[2J\u{7}\r\nx: cannot be read\u{2028}\u{202e}\u{9b}"

    /// Every error, with a hostile text wherever it has one.
    private static var errors: [StorageError] {
        let text = hostile
        return [
            .unreadable(file: text, reason: text, edits: .lost(keys: [text, text])),
            .malformed(file: text, offset: 1, reason: text), .malformed(file: text, offset: 1, line: 1, column: 1, reason: text),
            .unwritable(file: text, reason: text, edits: .kept), .folderNotGranted(file: text, edits: .rolledBack),
            .locked(file: text, waited: .seconds(1), edits: .logged), .suspended(file: text, edits: .notDurable),
            .conflict(file: text, keys: [text, text]), .readOnly(file: text), .unwatchable(file: text, reason: text),
            .mountedFile(file: text), .undecodable(key: text, expected: text, found: text), .unencodable(key: text, reason: text),
            .tooLarge(key: text, reason: text), .tooLarge(key: nil, reason: text), .outcomeUnknown(storage: text, reason: text),
            .historyLost(storage: text, reason: text), .mandatory(key: text), .discardedScene(key: text),
            .repeatedName(key: text, group: text), .invalidGroup(group: text, reason: text),
            .unknownName(key: text, group: text, nearest: text), .superseded(key: text, earlierName: text),
            .invalidOverride(name: text, key: text, reason: text), .nestedEdit(key: text), .unmirrored(key: text, reason: text),
            .unmirrored(key: nil, reason: text), .invalidConfiguration(item: text, reason: text, remedy: text),
        ]
    }

    @Test("A name or reason with control characters is escaped, and begins no line of its own")
    func hostile() {
        for error in Self.errors {
            let text = error.description
            #expect(!text.unicodeScalars.contains { $0.isUnprintable || $0 == "\n" }, "\(error)")
            #expect(text.contains(#"\u{1b}[2J\u{7} x: cannot be read \u{202e}\u{9b}"#), "\(error)")
        }
        for error in [StorageError.closed, .nestedUpdate] { #expect(error.description == error.description.printableLine) }
    }

    @Test("A lock that another process holds is told with the lock file and the remedy")
    func locked() {
        let text = "\(StorageError.locked(file: "/a/list.plist", waited: .seconds(1), edits: .kept))"
        #expect(text.hasSuffix("by the lock file .list.plist.lock beside it, or wait for it with a longer lockTimeout"))
        let other = StorageError.locked(file: "other", waited: .seconds(1)).description
        #expect(other == "other: locked by another process for more than 1.0 seconds")
    }

    @Test(
        "Edits that are in the file, or may be, are neither rolled back nor lost",
        arguments: [StorageError.EditOutcome.notDurable, .unknown])
    func inFile(outcome: StorageError.EditOutcome) {
        let error = StorageError.unwritable(file: "list", reason: "full", edits: outcome)
        #expect(error.with(.rolledBack) == error && error.with(.lost(keys: ["a"])) == error)
        #expect(error.with(.kept) == .unwritable(file: "list", reason: "full", edits: .kept))
    }

    @Test("Several errors have a line each")
    func several() {
        let errors = StorageError.several([.several(Self.errors), .closed])
        let lines = errors.description.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.map(String.init) == Self.errors.map(\.description) + [StorageError.closed.description])
    }
}
