import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Other programs that write the file in place, slowly.
@Suite("Slow writers", .timeLimit(.minutes(10)))
struct SlowWriterTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
        try list(1).write(to: file)
    }

    private func list(_ count: Int64) throws -> Data {
        try PropertyListValue.dictionary(["count": .integer(PropertyListInteger(count)), "note": "one"]).encoded(as: .xml)
    }

    @Test("A writer that truncates the file and pauses has no effect until it finishes, and the pause is reported", arguments: [0, 150])
    func pausing(firstPiece: Int) async throws {
        var calls = FileSystemCalls.withoutPauses
        // On a busy machine, the file may be read more than a second after it was truncated, when nobody is taken to be writing it.
        calls.now = { [now = Date()] in now }
        let store = try ObservableStore(backend: PropertyListFile(at: file, calls: calls))
        let (failures, changes) = (store.failures, store.allChanges())
        let seen = Recorder<String>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record("\($0.oldValue) to \($0.newValue)") }
        let note = store.addUpdateListener(for: Keys.note) { _ in seen.record("note") }
        let writer = try FileHandle(forWritingTo: file)
        try writer.truncate(atOffset: 0)
        try writer.write(contentsOf: list(2).prefix(firstPiece))
        let failure = await failures.first { _ in true }
        guard case .malformed(file: file.path, _, _, _, _, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(store[Keys.count] == 1)
        #expect(seen.elements.isEmpty)
        try writer.write(contentsOf: list(2).dropFirst(firstPiece))
        try writer.close()
        #expect(await changes.first { _ in true }?.newValue == 2)
        #expect(try await seen.elements(count: 1) == ["1 to 2"])
        withExtendedLifetime((token, note)) {}
    }

    @Test("A file that its writer never closes is read")
    func neverClosing() async throws {
        let store = try ObservableStore(at: file)
        let writer = try FileHandle(forWritingTo: file)
        for count: Int64 in 2...5 {
            try writer.seek(toOffset: 0)
            try writer.write(contentsOf: list(count))
            for await value in store.values(of: Keys.count) where value == Int(count) { break }
        }
        try writer.close()
    }

    @Test("An edit made while a writer pauses waits for it, and the file finally contains both")
    func editMeanwhile() async throws {
        let store = try ObservableStore(at: file)
        let writer = try FileHandle(forWritingTo: file)
        try writer.truncate(atOffset: 0)
        try writer.write(contentsOf: list(2).prefix(150))
        store[Keys.text] = "mine"
        await #expect(throws: StorageError.self) { try await store.flush() }
        try writer.write(contentsOf: list(2).dropFirst(150))
        try writer.close()
        try await store.flush()
        #expect(try PropertyListFile(at: file).load().values == ["count": 2, "note": "one", "text": "mine"])
    }
}
