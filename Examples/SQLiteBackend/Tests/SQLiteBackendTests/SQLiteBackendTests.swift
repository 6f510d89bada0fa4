import Foundation
import ObservableStorage
import ObservableStorageTesting
import SQLiteBackend
import Testing

private let count = StorageKey("count", default: 0)

/// A backend over SQLite, with other processes and with Python's `sqlite3` and `plistlib`.
@Suite("A backend over SQLite", .timeLimit(.minutes(2)))
final class SQLiteBackendTests {
    private let folder: URL
    private let file: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "SQLiteBackendTests-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        file = folder.appending(path: "settings.db")
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func openStore() throws -> ObservableStore {
        try ObservableStore(backend: SQLiteBackend(at: file))
    }

    /// Runs a program, and returns its exit status and output.
    private static func run(_ program: URL, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { process in
                let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                continuation.resume(returning: (process.terminationStatus, text))
            }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }

    private static func demo(_ arguments: [String] = []) async throws -> (status: Int32, text: String) {
        #if os(Linux)
            let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        #else
            let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
        #endif
        return try await run(tests.deletingLastPathComponent().appending(path: "SQLiteDemo"), arguments)
    }

    private func python(_ script: String) async throws -> String {
        let imports = "import plistlib, sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
        let ended = try await Self.run(URL(filePath: "/usr/bin/env"), ["python3", "-c", imports + script, file.path])
        #expect(ended.status == 0)
        return ended.text
    }

    @Test("It keeps the promises of a backend, with a connection for each process", arguments: BackendPromise.allCases)
    func promises(promise: BackendPromise) async throws {
        let file = file
        try await promise.check { try SQLiteBackend(at: file) }
    }

    @Test("Values are read back by another store, and by Python")
    func values() async throws {
        let stored: [String: PropertyListValue] = [
            "array": [1, true, .real(1), "1", .data(Data())], "dictionary": ["a": ["b": .date(Date(timeIntervalSince1970: 5))]], "": "",
            "a\u{0}b": "c\u{0}", "🗝": .integer(PropertyListInteger(UInt64.max)),
        ]
        let store = try openStore()
        try await store.update { transaction in
            for (name, value) in stored { transaction[StorageKey(name, default: PropertyListValue(0))] = value }
        }
        #expect(try openStore().snapshot.entries == stored)
        store.remove(StorageKey("array", default: 0))
        store.remove(StorageKey("a\u{0}b", default: 0))
        try await store.close()
        let text = try await python("print(sorted((n, plistlib.loads(v)) for n, v in db.execute('SELECT * FROM entries')))")
        #expect(text == "[('', ''), ('dictionary', {'a': {'b': datetime.datetime(1970, 1, 1, 0, 0, 5)}}), ('🗝', 18446744073709551615)]\n")
    }

    @Test("Names that Swift considers equal are one entry, under the name that was stored first")
    func equivalentNames() throws {
        let backend = try SQLiteBackend(at: file)
        _ = try backend.edit { $0["\u{e9}"] = 1 }
        _ = try backend.edit { $0["e\u{301}"] = 2 }
        #expect(try backend.load().values.map { Array($0.key.unicodeScalars) } == [["\u{e9}"]])
        _ = try backend.edit { $0["e\u{301}"] = nil }
        #expect(try backend.load().values.isEmpty)
    }

    @Test("Several processes lose no edits")
    func severalProcesses() async throws {
        let path = file.path
        let store = try openStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    let status = try await Self.demo([path, "50"]).status
                    #expect(status == 0)
                }
            }
            group.addTask { for _ in 0..<50 { try await store.update { $0[count] += 1 } } }
            try await group.waitForAll()
        }
        try await store.close()
        #expect(try openStore()[count] == 200)
    }

    @Test("The demo loses no increments")
    func demoProcesses() async throws {
        let ended = try await Self.demo()
        #expect(ended.status == 0)
        #expect(ended.text.hasSuffix("the count is 100\n"))
    }

    @Test("A change by another program is observed")
    func otherProgram() async throws {
        let store = try openStore()
        store[count] = 1
        try await store.flush()
        let changes = store.changes(of: count)
        _ = try await python("db.execute('UPDATE entries SET value = ?', (plistlib.dumps(7),)); db.commit()")
        for await change in changes {
            #expect(change.newValue == 7 && change.origin == .external)
            break
        }
    }

    @Test("A transaction that throws changes nothing, and the next one succeeds")
    func rollback() async throws {
        struct Failure: Error {}
        let store = try openStore()
        await #expect(throws: Failure.self) {
            try await store.update { transaction in
                transaction[count] = 1
                throw Failure()
            }
        }
        #expect(try openStore().snapshot.entries.isEmpty)
        try await store.update { $0[count] = 2 }
        #expect(try openStore()[count] == 2)
    }

    @Test("A file that is not a database, and a value that is not a property list, are refused and left as they are")
    func malformed() async throws {
        let text = Data(String(repeating: "text", count: 500).utf8)
        try text.write(to: file)
        #expect(throws: StorageError.malformed(file: file.path, offset: nil, reason: "file is not a database")) { try self.openStore() }
        #expect(try Data(contentsOf: file) == text)
        try FileManager.default.removeItem(at: file)
        _ = try SQLiteBackend(at: file)
        _ = try await python("db.execute(\"INSERT INTO entries VALUES ('count', x'00')\"); db.commit()")
        let error = #expect(throws: StorageError.self) { try self.openStore() }
        #expect(error.map { "\($0)" }?.contains("the value of the row \"count\" is not a property list") == true)
        #expect(try await python("print(db.execute('SELECT value FROM entries').fetchone())") == "(b'\\x00',)\n")
    }

    @Test("A database that another connection has locked is reported as locked, and can be edited afterwards")
    func locked() throws {
        let (first, second) = (try SQLiteBackend(at: file), try SQLiteBackend(at: file, lockTimeout: .milliseconds(1)))
        let path = file.path
        _ = try first.edit { entries in
            #expect(throws: StorageError.locked(file: path, waited: .milliseconds(1))) { try second.edit { $0["count"] = 1 } }
            entries["name"] = "first"
        }
        _ = try second.edit { $0["count"] = 2 }
        #expect(try first.load().values == ["name": "first", "count": 2])
    }
}
