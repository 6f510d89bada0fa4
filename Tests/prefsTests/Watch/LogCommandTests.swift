import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("prefs log", .timeLimit(.minutes(10)))
struct LogCommandTests {
    private let plain = Output(descriptor: STDOUT_FILENO, isColoured: false)
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func line(
        _ key: String, _ old: PropertyListValue?, _ new: PropertyListValue?, time: String? = "2026-11-20T10:00:00.25Z",
        writer: String? = "player 4711", isJSON: Bool = false
    ) throws -> String {
        let time = try time.map { try #require(Date(iso8601: $0)) }
        let commit = StorageCommit([:], revision: StorageRevision(history: "5d41402a", number: 17), time: time, writer: writer)
        let edit = StorageCommit.Edit(from: old, to: new)
        return isJSON ? commit.json(of: edit, key) : commit.text(of: edit, key, for: plain)
    }

    /// What the command prints for a storage.
    private func printed(_ storage: any StorageBackend, _ arguments: Arguments) async throws -> [String] {
        let file = folder.file("output")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        let output = Output(descriptor: handle.fileDescriptor, isColoured: false)
        try await Command.printLog(of: storage, arguments, output)
        try handle.close()
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test("A text line has the time, the key, both values, the writer and the revision")
    func text() throws {
        #expect(
            try line("volume", 0.3, 0.5)
                == "2026-11-20T10:00:00.25Z  volume: 0.3 -> 0.5  (player 4711, revision 5d41402a-17)")
        #expect(
            try line("a b", nil, "x\ny", writer: "odd\nname")
                == #"2026-11-20T10:00:00.25Z  "a b": (none) -> "x\ny"  (odd\nname, revision 5d41402a-17)"#)
        #expect(
            try line("a", [1], nil, time: nil, writer: nil)
                == "(unknown time)  a: [1] -> (removed)  (unknown writer, revision 5d41402a-17)")
    }

    @Test("A JSON line has the same fields, with null for what is missing")
    func json() throws {
        #expect(
            try line("a", nil, 1, isJSON: true)
                == #"{"key":"a","old":null,"new":1,"kind":"set","storageRevision":"5d41402a-17","#
                + #""time":"2026-11-20T10:00:00.25Z","writer":"player 4711"}"#)
        #expect(
            try line("a", 1, nil, time: nil, writer: nil, isJSON: true)
                == #"{"key":"a","old":1,"new":null,"kind":"removed","storageRevision":"5d41402a-17","time":null,"writer":null}"#)
    }

    @Test("Commits are printed in order, and the changes of one sorted by key")
    func commits() async throws {
        let backend = InMemoryBackend(["b": 1])
        _ = try backend.edit { ($0["b"], $0["a"]) = (2, "x") }
        _ = try backend.edit { $0["b"] = nil }
        let lines = try await printed(backend, Arguments(operands: ["f.plist"]))
        let revision = try #require(backend.load().revision).history
        try #require(lines.count == 3)
        #expect(lines[0].hasSuffix(#"Z  a: (none) -> "x"  (unknown writer, revision \#(revision)-1)"#))
        #expect(lines[1].hasSuffix("Z  b: 1 -> 2  (unknown writer, revision \(revision)-1)"))
        #expect(lines[2].hasSuffix("Z  b: 2 -> (removed)  (unknown writer, revision \(revision)-2)"))
        let objects = try await printed(backend, Arguments(operands: ["f.plist", "a"], options: ["json": ""]))
        #expect(objects.count == 1 && objects[0].hasPrefix(#"{"key":"a","old":null,"new":"x","kind":"set","#))
    }

    @Test("With a path, each change of the value at that path is printed")
    func path() async throws {
        let backend = InMemoryBackend(["server": ["port": 1, "host": "a"], "server.port": 5])
        _ = try backend.edit { $0["server"] = ["port": 1, "host": "b"] }
        _ = try backend.edit { $0["server"] = ["port": 2, "host": "b"] }
        _ = try backend.edit { $0["server.port"] = 6 }
        _ = try backend.edit { $0["server"] = nil }
        func values(_ key: String, isLiteral: Bool = false) async throws -> [String] {
            let arguments = Arguments(operands: ["f.plist", key], options: isLiteral ? ["literal": ""] : [:])
            return try await printed(backend, arguments).map { $0.split(separator: "  ")[1].description }
        }
        #expect(
            try await values("server.port") == ["server.port: 1 -> 2", "server.port: 5 -> 6", "server.port: 2 -> (removed)"])
        #expect(try await values("server.port", isLiteral: true) == ["server.port: 5 -> 6"])
        #expect(try await values("none").isEmpty)
    }

    @Test("A file without a journal and a missing file are errors with different exit statuses")
    func noJournal() async throws {
        let file = folder.path("settings.plist")
        #expect(try await tool("log", file).status == 3)
        try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: folder.file("settings.plist"))
        for result in [try await tool("log", file), try await tool("log", file, "a", "--json")] {
            #expect(result.status == 4 && result.output.isEmpty)
            #expect(
                result.errors
                    == "prefs: \(file): it has no journal, so that its earlier changes are not known; prefs watch prints later ones\n")
        }
        let watch = try await tool("watch", file, "--since", "5d41402a-17")
        #expect(watch.status == 4 && watch.output.isEmpty)
        #expect(watch.errors.hasPrefix("prefs: \(file): it has no journal") && watch.errors.contains("--initial"))
    }
}
