import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

extension StorageKey<Int> {
    fileprivate static let port = StorageKey("port", default: 80)
}

@Suite("Property lists written by hand", .timeLimit(.minutes(10)))
struct HandwrittenPropertyListsTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let printed = Recorder<String>()

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func print(_ line: String) {
        printed.record(line)
    }

    private func open() throws -> ObservableStore {
        // snippet: HandwrittenPropertyLists
        var configuration = PropertyListFile.Configuration()
        configuration.format = .xml
        configuration.onDeletion = .keepLastValues
        let store = try ObservableStore(at: file, configuration: configuration)
        // end
        return store
    }

    private static func article() throws -> String {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let article = package.appending(path: "Sources/ObservableStorage/Documentation.docc/HandwrittenPropertyLists.md")
        return try String(contentsOf: article, encoding: .utf8)
    }

    /// The two XML files of the article, before and after the edit.
    private static func files() throws -> [String] {
        try article().components(separatedBy: "```xml\n").dropFirst().map {
            "<plist version=\"1.0\">\n\($0.components(separatedBy: "```")[0])</plist>\n"
        }
    }

    @Test("An edit of the article's first file makes its second one")
    func edit() async throws {
        let files = try Self.files()
        try #require(files.count == 2)
        try Data(files[0].utf8).write(to: file)
        let store = try open()
        store[.port] = 8081
        try await store.flush()
        #expect(try String(contentsOf: file, encoding: .utf8) == files[1])
        try await store.close()
    }

    @Test("A file with a mistake changes nothing, and the error names the line")
    func mistake() async throws {
        let text = "<plist version=\"1.0\">\n<dict><key>port</key><integer>8080</integer></dict>\n</plist>\n"
        try Data(text.utf8).write(to: file)
        let store = try open()
        let reader = Task {
            // snippet: HandwrittenPropertyLists
            for await failure in store.failures {
                print("\(failure)")
            }
            // end
        }
        try Data(text.replacingOccurrences(of: "8080", with: "eighty").utf8).write(to: file, options: .atomic)
        let message = try #require(try await printed.elements(count: 1).first)
        #expect(message.contains(file.path))
        #expect(message.contains("line 2"))
        #expect(store[.port] == 8080)
        try Data(text.replacingOccurrences(of: "8080", with: "81").utf8).write(to: file, options: .atomic)
        for await port in store.values(of: .port) where port == 81 { break }
        try await store.close()
        await reader.value
    }

    @Test("A number may be written as a string, and a value may be in a dictionary")
    func types() async throws {
        // snippet: HandwrittenPropertyLists
        let port = StorageKey("port", codec: .lenient, default: 80)
            .validated(in: 1...65_535)
        // end
        // snippet: HandwrittenPropertyLists
        let host = StorageKey("server", "host", default: "localhost")
        // end
        let list: PropertyListValue = ["port": "8080", "server": ["host": "example.org"]]
        try list.encoded(as: .xml).write(to: file)
        let store = try open()
        #expect((store[port], store[host]) == (8080, "example.org"))
        #expect(throws: StorageError.self) { try store.set(0, for: port) }
        try await store.close()
    }

    @Test("The article's JSON file is read, and a date is stored as text in a new one")
    func json() async throws {
        let article = try Self.article()
        let text = try #require(article.components(separatedBy: "```json\n").dropFirst().first?.components(separatedBy: "```").first)
        try Data(text.utf8).write(to: file)
        let store = try open()
        store[.port] = 8081
        try await store.close()
        #expect(try String(contentsOf: file, encoding: .utf8) == text.replacingOccurrences(of: "8080", with: "8081"))
        let folder = folder.url
        // snippet: HandwrittenPropertyLists
        let updated = StorageKey<Date?>("updated", codec: .iso8601)
        let settings = try ObservableStore(at: folder.appending(path: "settings.json"))
        settings[updated] = Date(timeIntervalSince1970: 0)
        // end
        try await settings.close()
        let written = try String(contentsOf: folder.appending(path: "settings.json"), encoding: .utf8)
        #expect(written == "{\n  \"updated\": \"1970-01-01T00:00:00Z\"\n}\n")
    }

    @Test("The values of a deleted file are kept, and a new file is XML")
    func deleted() async throws {
        let store = try open()
        store[.port] = 81
        try await store.flush()
        #expect(try PropertyListValue.decode(Data(contentsOf: file)).format == .xml)
        try FileManager.default.removeItem(at: file)
        var failures = store.failures.makeAsyncIterator()
        _ = await failures.next()
        #expect(store[.port] == 81)
        store[StorageKey("size", default: 0)] = 5
        try await store.flush()
        #expect(try ObservableStore(at: file).snapshot.entries == ["port": 81, "size": 5])
        try await store.close()
    }
}
