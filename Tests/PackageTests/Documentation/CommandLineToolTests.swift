import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

nonisolated extension StorageKey<Int> {
    fileprivate static let runs = StorageKey("runs", default: 0)
}

@Suite("Writing a command-line tool", .timeLimit(.minutes(10)))
struct CommandLineToolTests {
    // snippet: WritingACommandLineTool
    struct ToolKeys: KeyGroup {
        let editor = StorageKey("editor", default: "vi").described("the program that edits messages")
        let width = StorageKey("width", default: 100).validated(in: 40...200).described("the length of a line")
        let remote = StorageKey("server", "host", default: "localhost").described("the host of the server")
    }
    // end

    // snippet: WritingACommandLineTool
    func configure(_ arguments: [String], _ settings: KeyedStore<ToolKeys>) async throws -> [String] {
        if arguments.count == 2 {
            try settings.anyValue(named: arguments[0]).set(text: arguments[1])
            try await settings.store.flush()
        }
        return try settings.storedValues.map { "\($0.name) = \(try $0.text ?? "")    # \($0.summary ?? "")" }
    }
    // end

    private let backend = InMemoryBackend()
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: backend)
    }

    @Test("A tool lists its settings, and sets one by name from text")
    func settings() async throws {
        let settings = KeyedStore<ToolKeys>(store)
        let listed = [
            "editor = vi    # the program that edits messages", "width = 100    # the length of a line",
            ".server.host = localhost    # the host of the server",
        ]
        #expect(try await configure([], settings) == listed)
        #expect(try await configure(["width", "120"], settings)[1] == "width = 120    # the length of a line")
        _ = try await configure([".server.host", "example.org"], settings)
        #expect(backend.load().values == ["width": 120, "server": ["host": "example.org"]])
    }

    @Test("Text that is not of the key's type or not valid is an error, and changes nothing", arguments: ["wide", "1.5", "39"])
    func refused(text: String) async throws {
        let settings = KeyedStore<ToolKeys>(store)
        let error = await #expect(throws: StorageError.self) { try await configure(["width", text], settings) }
        #expect("\(try #require(error))".contains("\"width\""))
        #expect(settings.width == 100)
        let unknown = StorageError.unknownName(key: "height", group: "ToolKeys")
        await #expect(throws: unknown) { try await configure(["height", "1"], settings) }
    }

    @Test("A setting can be given as an argument, and the other arguments are left")
    func arguments() throws {
        let folder = try TemporaryFolder()
        let url = folder.file("tool.plist")
        func files(_ arguments: [String]) throws -> [String] {
            // snippet: WritingACommandLineTool
            let store = try ObservableStore(at: url, overrides: [.arguments(arguments)])
            let settings = try KeyedStore<ToolKeys>(store).check()
            let files = settings.remainingArguments.dropFirst()
            // end
            #expect(settings.width == 120 && settings.remote == "example.org" && store.snapshot.entries.isEmpty)
            return Array(files)
        }
        #expect(try files(["tool", "--width", "120", "a.txt", "--server-host=example.org", "b.txt"]) == ["a.txt", "b.txt"])
        #expect(throws: StorageError.self) { try files(["tool", "--width", "39"]) }
    }

    @Test("Two instances of a tool count both")
    func counting() async throws {
        func run(_ store: ObservableStore) async throws -> Int {
            // snippet: WritingACommandLineTool
            let number = try await store.update { transaction in
                transaction[.runs] += 1
                return transaction[.runs]
            }
            // end
            return number
        }
        #expect(try await run(store) == 1)
        #expect(try await run(ObservableStore(backend: backend)) == 2)
    }

    @Test("A tool reads its settings without a store, and an unknown name is told")
    func reading() throws {
        let folder = try TemporaryFolder()
        let url = folder.file("tool.plist")
        try PropertyListValue.dictionary(["editor": "ed"]).encoded(as: .xml).write(to: url)
        // snippet: WritingACommandLineTool
        let settings = try ObservableStore.read(at: url).checked(as: ToolKeys.self)
        print(settings.editor)
        // end
        #expect(settings.editor == "ed")
        try PropertyListValue.dictionary(["Editor": "ed"]).encoded(as: .xml).write(to: url)
        #expect(throws: StorageError.unknownName(key: "Editor", group: "ToolKeys", nearest: "editor")) {
            try ObservableStore.read(at: url).checked(as: ToolKeys.self)
        }
    }

    @Test("A termination signal can be handled for as long as a token exists")
    func termination() {
        // snippet: WritingACommandLineTool
        let termination = ObservableStore.flushOnTermination()
        // end
        termination.cancel()
    }
}
