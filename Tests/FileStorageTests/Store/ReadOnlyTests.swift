import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("A store that only reads", .timeLimit(.minutes(10)))
struct ReadOnlyTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ entries: [String: PropertyListValue]) throws {
        try PropertyListValue.dictionary(entries).encoded(as: .binary).write(to: file, options: .atomic)
    }

    @Test("Values are read and observed, and nothing is created or changed, not even by a read that would migrate")
    func reading() async throws {
        try write(["former": 1])
        let former = StorageKey("latter", default: 0).renamed(from: "former")
        let written = StorageKey("written", persistsDefault: .whenMissing, default: 7)
        let store = try ObservableStore(at: file, access: .readOnly)
        let bytes = try Data(contentsOf: file)
        #expect(store[former] == 1 && store[written] == 7)
        try await store.flush()
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try folder.names() == ["settings.plist"])
        let values = store.values(of: Keys.count)
        try write(["count": 5])
        for await value in values where value == 5 { break }
        try await store.close()
        #expect(try folder.names() == ["settings.plist"])
    }

    @Test("Every kind of edit is refused, with the file and the remedy")
    func edits() async throws {
        try write(["count": 1])
        let store = try ObservableStore(at: file, access: .readOnly)
        let refusal = StorageError.readOnly(file: file.path)
        #expect(throws: refusal) { try store.set(5, for: Keys.count) }
        #expect(throws: refusal) { try store.stored(Keys.count).modify { $0 += 1 } }
        await #expect(throws: refusal) { try await store.update { $0[Keys.count] = 5 } }
        await #expect(throws: refusal) { try await store.migrate([StoreMigration(to: 1) { $0[Keys.count] = 5 }]) }
        var failures = store.failures.makeAsyncIterator()
        store[Keys.count] = 5
        store.remove(Keys.count)
        for _ in 0..<2 { #expect(await failures.next() == refusal) }
        #expect(store.entries == ["count": 1] && store.revision == 0)
        #expect(refusal.description.contains("\(file.path): opened for reading only"))
        #expect(throws: refusal) { try PropertyListFile(at: file, access: .readOnly).edit { $0["count"] = 5 } }
        try await store.close()
        #expect(throws: StorageError.closed) { try store.set(5, for: Keys.count) }
        #expect(try folder.names() == ["settings.plist"])
    }

    @Test("A missing file and a missing folder are not created, and are observed")
    func missing() async throws {
        let other = folder.url.appendingPathComponent("other", isDirectory: true)
        let store = try ObservableStore(at: other.appendingPathComponent("settings.plist"), access: .readOnly)
        #expect(store.entries.isEmpty)
        try await store.flush()
        #expect(try folder.names().isEmpty)
        let values = store.values(of: Keys.count)
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        try PropertyListValue.dictionary(["count": 5]).encoded(as: .xml).write(to: other.appendingPathComponent("settings.plist"))
        for await value in values where value == 5 { break }
    }

    @Test(
        "No call to the system creates, locks, renames or writes anything, whatever the state of the file",
        arguments: ["whole", "malformed", "torn"])
    func calls(state: String) throws {
        try write(["count": 1])
        if state != "whole" { try folder.make("settings.plist", "bad") }
        if state == "torn" { try PropertyListValue.dictionary([:]).encoded(as: .xml).write(to: folder.file(".settings.plist.copy")) }
        let names = try folder.names()
        let recorder = CallRecorder()
        let backend = PropertyListFile(
            at: file,
            configuration: .with {
                ($0.onCorruption, $0.lockTimeout) = (.quarantine, .zero)
                ($0.inPlaceWriting, $0.access) = (.whenNecessary(), .readOnly)
            }, calls: recorder.calls)
        if state == "whole" {
            #expect(try backend.load().values == ["count": 1])
        } else {
            #expect(throws: StorageError.self) { try backend.load() }
        }
        #expect(
            Set(recorder.names).isSubset(of: [
                "open", "close", "read", "statusOfDescriptor", "statusOfPath", "untimedStatus", "readLink", "now", "pause",
            ]))
        #expect(try folder.names() == names)
    }

    @Test("A file that the process may not write is read")
    func unwritable() throws {
        try write(["count": 1])
        try #require(chmod(file.path, 0o400) == 0)
        let store = try ObservableStore(at: file, access: .readOnly)
        #expect(store[Keys.count] == 1)
    }
}
