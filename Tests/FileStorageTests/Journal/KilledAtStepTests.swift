import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// What a process that is killed at a system call leaves, is what the files contain at that moment: they are copied before each call.
@Suite("Processes killed at each step", .timeLimit(.minutes(10)))
struct KilledAtStepTests {
    private let key = StorageKey("k", default: 0)

    /// Copies of a folder, one before each system call.
    private final class Copies: Sendable {
        private let source: URL
        private let target: TemporaryFolder
        private let state = Lock<(isOn: Bool, copies: [(name: String, value: Int, folder: URL)])>((false, []))
        // Held while a value is set, and while files are copied.
        let value = Lock(0)

        init(of source: URL) throws {
            self.source = source
            target = try TemporaryFolder.inMemory()
        }

        func start() {
            state.withLock { $0.isOn = true }
        }

        func note(_ name: String) {
            guard state.withLock({ $0.isOn }) else { return }
            value.withLock { value in
                let folder = target.url.appendingPathComponent("\(state.withLock { $0.copies.count })")
                do {
                    try FileManager.default.copyItem(at: source, to: folder)
                } catch {
                    Issue.record(error)
                }
                state.withLock { $0.copies.append((name, value, folder)) }
            }
        }

        var all: [(name: String, value: Int, folder: URL)] {
            state.withLock { $0.copies }
        }
    }

    @Test("Killed before any system call of a commit, a process loses nothing, and undoes nothing")
    func commit() async throws {
        let fixture = try EditLogFixture()
        let copies = try Copies(of: fixture.folder.url)
        let recorder = CallRecorder { _, name in
            copies.note(name)
            return nil
        }
        let store = try ObservableStore(
            backend: PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .edits }, calls: recorder.calls))
        try store.set(-1, for: key)
        try await store.flush()
        copies.start()
        for value in 1...20 {
            try copies.value.withLock { last in
                try store.set(value, for: key)
                last = value
            }
            if value % 5 == 0 { try await store.flush() }
        }
        try await store.close()
        #expect(Set(copies.all.map(\.name)).isSuperset(of: ["rename", "synchronize", "list", "lock", "unlock"]))
        for (name, value, folder) in copies.all {
            let backend = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .edits)
            #expect(try backend.load().values == ["k": .integer(PropertyListInteger(Int64(value == 0 ? -1 : value)))], "before \(name)")
            #expect(backend.list.reports.kept.withLock { $0 }.isEmpty, "before \(name)")
            // Killed between removing its log and the folder, it leaves the folder.
            let logs = folder.appendingPathComponent(".settings.plist.edits").path
            #expect((try? FileManager.default.contentsOfDirectory(atPath: logs)) ?? [] == [])
        }
    }

    @Test("Killed before any system call of a replay, a process leaves what the next one replays to the same result")
    func replay() throws {
        let fixture = try EditLogFixture(["k": 1, "gone": 1, "d": ["a": 1]])
        try fixture.leaveLog(
            EditLogFixture.chain("k", from: 1, [2, 1, 3]) + EditLogFixture.chain("gone", from: 1, [nil])
                + EditLogFixture.chain("d", from: 1, [2], path: ["a"]))
        let copies = try Copies(of: fixture.folder.url)
        copies.start()
        let recorder = CallRecorder { _, name in
            copies.note(name)
            return nil
        }
        let expected: [String: PropertyListValue] = ["k": 3, "d": ["a": 2]]
        let backend = PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .edits }, calls: recorder.calls)
        #expect(try backend.load().values == expected)
        #expect(Set(copies.all.map(\.name)).isSuperset(of: ["rename", "remove", "removeEmptyFolder", "synchronize"]))
        for (name, _, folder) in copies.all {
            let backend = PropertyListFile(at: folder.appendingPathComponent("settings.plist"), journal: .edits)
            #expect(try backend.load().values == expected, "before \(name)")
            #expect(backend.list.reports.kept.withLock { $0 }.isEmpty, "before \(name)")
        }
    }

    @Test("Killed before any system call of a commit that replays first, a process leaves no log that undoes the commit")
    func commitThatReplays() throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2, 3]))
        let copies = try Copies(of: fixture.folder.url)
        let recorder = CallRecorder { _, name in
            copies.note(name)
            return nil
        }
        let backend = PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .edits }, calls: recorder.calls)
        copies.start()
        let entries = try backend.edit { entries in
            // A value that the dead store had replaced.
            (entries["k"], entries["own"]) = (1, true)
        }
        #expect(entries.values == ["k": 1, "own": true])
        var committed = 0
        for (name, _, folder) in copies.all {
            let file = folder.appendingPathComponent("settings.plist")
            let isCommitted = try PropertyListFile(at: file, access: .readOnly).load()["own"] != nil
            if isCommitted { committed += 1 }
            let found = try PropertyListFile(at: file, journal: .edits).load().values
            #expect(found == (isCommitted ? ["k": 1, "own": true] : ["k": 3]), "before \(name)")
        }
        #expect(committed > 0)
    }

    @Test("A commit of another process after a kill is not undone by the log, also if it restores an earlier value")
    func laterCommit() async throws {
        let fixture = try EditLogFixture(["k": 0])
        let copies = try Copies(of: fixture.folder.url)
        let recorder = CallRecorder { _, name in
            copies.note(name)
            return nil
        }
        let store = try ObservableStore(
            backend: PropertyListFile(at: fixture.file, configuration: .with { $0.journal = .edits }, calls: recorder.calls))
        try store.set(5, for: key)
        try await store.flush()
        copies.start()
        try store.set(6, for: key)
        try await store.flush()
        let stored = try copies.all.filter { _, _, folder in
            try PropertyListFile(at: folder.appendingPathComponent("settings.plist"), access: .readOnly).load().values == ["k": 6]
        }
        // The folder is synchronized after the lock file was unlocked, which is the last one: another process may have set 0 again by then.
        let end = try #require(stored.firstIndex { $0.name == "synchronize" })
        let unlock = try #require(stored[..<end].last { $0.name == "unlock" })
        let logs = unlock.folder.appendingPathComponent(".settings.plist.edits")
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: logs.path).first)
        let bytes = try Data(contentsOf: logs.appendingPathComponent(name))
        #expect(bytes.withUnsafeBytes { EditLogContent($0)?.edits.isEmpty } == true)
        try await store.close()
    }
}
