import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("External changes", .timeLimit(.minutes(10)))
struct ExternalChangeTests {
    @Test("Another store's change is delivered as external, with the old value and the new one", arguments: Fixture.allCases)
    func arrives(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let (store, other) = (try storage.open(), try storage.open())
        store[Keys.count] = 1
        try await store.flush()
        let changes = store.changes(of: Keys.count)
        try await other.update { $0[Keys.count] = 2 }
        let change = await changes.first { _ in true }
        #expect(
            change
                == Change(
                    key: "count", oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: 2,
                    storageRevision: store.storageRevision))
    }

    @Test("Several keys that changed together are one revision", arguments: Fixture.allCases)
    func oneRevision(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let (store, other) = (try storage.open(), try storage.open())
        let changes = store.allChanges()
        try await other.update { transaction in
            transaction[Keys.count] = 2
            transaction[Keys.text] = "two"
        }
        var seen: [Change<PropertyListValue?>] = []
        for await change in changes {
            seen.append(change)
            if seen.count == 2 { break }
        }
        #expect(seen.map(\.key) == ["count", "text"])
        #expect(seen.map(\.revision) == [1, 1])
    }

    @Test("A store's own writes are delivered once", arguments: Fixture.allCases)
    func ownWrites(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let (store, other) = (try storage.open(), try storage.open())
        let changes = store.allChanges()
        for number in 1...20 {
            store[Keys.count] = number
            try await store.flush()
        }
        try await other.update { $0[Keys.text] = "end" }
        var seen: [Change<PropertyListValue?>] = []
        for await change in changes {
            seen.append(change)
            if change.key == "text" { break }
        }
        #expect(seen.dropLast().map(\.newValue) == (1...20).map { .integer(PropertyListInteger(Int64($0))) })
        #expect(seen.map(\.origin) == Array(repeating: .local, count: 20) + [.external])
    }

    @Test("Stores that edit different keys concurrently keep each other's edits", arguments: Fixture.allCases)
    func nothingIsLost(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let stores = try (0..<4).map { _ in try storage.open() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for key in 0..<50 { try store.set(key, for: StorageKey("\(number).\(key)", default: -1)) }
                    try await store.flush()
                }
            }
            try await group.waitForAll()
        }
        let entries = try storage.open().entries
        #expect(entries.count == 200)
        for number in 0..<4 { for key in 0..<50 { #expect(entries["\(number).\(key)"] == .integer(PropertyListInteger(Int64(key)))) } }
    }

    @Test("An edit that is not yet written takes precedence over another store's, finally in every store", arguments: Fixture.allCases)
    func pendingEditWins(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let other = try storage.open()
        backend.fail(.unwritable(file: "unreliable", reason: "not now"))
        store[Keys.count] = 1
        await #expect(throws: StorageError.self) { try await store.flush() }
        try await other.update { transaction in
            transaction[Keys.count] = 2
            transaction[Keys.text] = "two"
        }
        let seen = store.values(of: Keys.text)
        backend.fail(nil)
        for await text in seen where text == "two" { break }
        #expect(store[Keys.count] == 1)
        try await store.flush()
        for await count in other.values(of: Keys.count) where count == 1 { break }
        #expect(store[Keys.count] == 1)
    }

    @Test("Replacing and in-place writers are observed, and no half-written state is", arguments: [true, false])
    func foreignWriters(isAtomic: Bool) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let store = try ObservableStore(at: file)
        let seen = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: Keys.count) { seen.record($0) }
        for number in 1...20 {
            let bytes = try PropertyListValue.dictionary(["count": .integer(PropertyListInteger(Int64(number)))]).encoded(as: .xml)
            if isAtomic {
                try bytes.write(to: file, options: .atomic)
            } else {
                #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
                let handle = try FileHandle(forWritingTo: file)
                try handle.write(contentsOf: bytes.prefix(100))
                try handle.write(contentsOf: bytes.dropFirst(100))
                try handle.close()
            }
            _ = try await seen.elements { $0.last?.newValue == number }
        }
        #expect(seen.elements.map(\.newValue) == Array(1...20))
        #expect(seen.elements.map(\.oldValue) == Array(0..<20))
        withExtendedLifetime(token) {}
    }

    @Test("An invalid file leaves the last valid values in effect, is reported if it stays invalid, and read again when valid")
    func badFile() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let store = try ObservableStore(at: file)
        try await store.update { $0[Keys.count] = 1 }
        let failures = store.failures
        let changes = store.changes(of: Keys.count)
        try Data("no property list".utf8).write(to: file, options: .atomic)
        let failure = await failures.first { _ in true }
        guard case .malformed(file: file.path, _, _, _, _, _)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(store[Keys.count] == 1)
        try PropertyListValue.dictionary(["count": 2]).encoded(as: .xml).write(to: file, options: .atomic)
        let change = await changes.first { _ in true }
        #expect(change?.oldValue == 1)
        #expect(change?.newValue == 2)
    }

    @Test("A deleted file removes every key, and is read again when it returns")
    func deletion() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let store = try ObservableStore(at: file)
        try await store.update { transaction in
            transaction[Keys.count] = 1
            transaction[Keys.note] = "a"
        }
        let changes = store.allChanges()
        let bytes = try Data(contentsOf: file)
        try FileManager.default.removeItem(at: file)
        var seen: [Change<PropertyListValue?>] = []
        for await change in changes {
            seen.append(change)
            if seen.count == 2 { try bytes.write(to: file) }
            if seen.count == 4 { break }
        }
        #expect(seen.map(\.key) == ["count", "note", "count", "note"])
        #expect(seen.map(\.kind) == [.removed, .removed, .set, .set])
        #expect(seen.allSatisfy { $0.origin == .external })
    }

    @Test("An editor that deletes the file and writes it again changes only what it changed")
    func deleteAndRecreate() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let bytes = try PropertyListValue.dictionary(["count": 2, "note": "a"]).encoded(as: .binary)
        let isDeleted = Lock(false)
        var calls = FileSystemCalls.live
        // Written again while the store waits for that: a thread of the test may be too slow on a busy machine.
        calls.pause = { duration in
            FileSystemCalls.live.pause(duration)
            let isDue = isDeleted.withLock { isDeleted in
                defer { isDeleted = false }
                return isDeleted
            }
            do { if isDue { try bytes.write(to: file) } } catch { Issue.record(error) }
        }
        let store = try ObservableStore(
            backend: PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls))
        try await store.update { transaction in
            transaction[Keys.count] = 1
            transaction[Keys.note] = "a"
        }
        let changes = store.allChanges()
        isDeleted.withLock { $0 = true }
        try FileManager.default.removeItem(at: file)
        let change = await changes.first { _ in true }
        #expect(
            change
                == Change(
                    key: "count", oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: 2,
                    storageRevision: store.storageRevision))
    }
}
