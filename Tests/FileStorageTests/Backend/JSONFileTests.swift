import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("JSON settings files", .timeLimit(.minutes(10)))
struct JSONFileTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.json")
    }

    private var text: String {
        get throws { try String(contentsOf: file, encoding: .utf8) }
    }

    private static let handwritten = """
        // The server.
        {
            "count" : 1,   // changed by hand
            "text": null,
            "limits": { "time": 1.50, "tags": ["a", "b"] },
        }

        """

    @Test(
        "A new file whose name ends in .json is JSON, unless the configuration names another format",
        arguments: [nil] + PropertyListFormat.allCases)
    func extensionDecides(format: PropertyListFormat?) async throws {
        for name in ["settings.json", "Settings.JSON", "settings.plist", "json"] {
            let file = folder.file(name)
            let store = try ObservableStore(at: file, configuration: .with { $0.format = format })
            store[Keys.count] = 5
            try await store.close()
            let expected = format ?? (name.lowercased().hasSuffix(".json") ? .json : .binary)
            #expect(try PropertyListValue.decode(Data(contentsOf: file)) == (["count": 5], expected))
            try FileManager.default.removeItem(at: file)
        }
    }

    @Test("A new file has a line for each value, and an empty one becomes JSON", arguments: [nil, "", "\n"])
    func newFile(content: String?) async throws {
        if let content { try Data(content.utf8).write(to: file) }
        let store = try ObservableStore(at: file)
        try await store.update { transaction in
            transaction[Keys.text] = "t"
            transaction[StorageKey("server", "ports", default: [Int]())] = [80]
        }
        #expect(try text == "{\n  \"server\": {\n    \"ports\": [\n      80\n    ]\n  },\n  \"text\": \"t\"\n}\n")
    }

    @Test("The format is that of the content, whatever the name")
    func content() async throws {
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: file)
        try await ObservableStore(at: file).update { $0[Keys.count] = 2 }
        #expect(try PropertyListValue.decode(Data(contentsOf: file)) == (["count": 2], .binary))
        let list = folder.file("settings.plist")
        try Data(Self.handwritten.utf8).write(to: list)
        try await ObservableStore(at: list).update { $0[Keys.count] = 2 }
        #expect(try String(contentsOf: list, encoding: .utf8) == Self.handwritten.replacing(": 1,", with: ": 2,"))
    }

    @Test("An edit changes nothing else in the text, with and without a journal", arguments: [JournalMode.edits, .off, .full()])
    func handwritten(journal: JournalMode) async throws {
        try Data(Self.handwritten.utf8).write(to: file)
        let store = try ObservableStore(at: file, configuration: .with { $0.journal = journal })
        #expect(store[Keys.count] == 1)
        #expect(!store.isSet(Keys.text))
        try await store.update { $0[Keys.count] = 2 }
        store[StorageKey("limits", "time", default: 0.0)] = 2
        store[Keys.text] = "é"
        try await store.close()
        let expected = Self.handwritten.replacing(": 1,", with: ": 2,").replacing("1.50", with: "2.0").replacing("null", with: "\"é\"")
        #expect(try text == expected)
        let other = try ObservableStore(at: file, configuration: .with { $0.journal = journal })
        try await other.update { $0.remove(Keys.text) }
        try await other.close()
        #expect(try text == expected.replacing("    \"text\": \"é\",\n", with: ""))
    }

    @Test("What another program edits in the text is merged with the edits of a store")
    func merged() async throws {
        try Data(Self.handwritten.utf8).write(to: file)
        let (one, two) = (try ObservableStore(at: file), try ObservableStore(at: file))
        var counts = two.values(of: Keys.count).makeAsyncIterator()
        #expect(await counts.next() == 1)
        try await one.update { $0[Keys.text] = "one" }
        try Data(text.replacing(": 1,", with: ": 7 /* by hand */,").utf8).write(to: file, options: .atomic)
        #expect(await counts.next() == 7)
        try await one.update { $0[StorageKey("size", default: 0)] = 3 }
        #expect(
            try text
                == Self.handwritten.replacing(": 1,", with: ": 7 /* by hand */,").replacing("null", with: "\"one\"")
                .replacing("},\n}", with: "},\n    \"size\": 3,\n}"))
        try await one.close()
        try await two.close()
    }

    @Test(
        "A mistake is an error with the line and the column, and the last values stay",
        arguments: [
            ("\"count\" : 1, \"count\": 2", "given twice"), ("\"count\" : 18446744073709551616", "out of range"),
            ("count: 1", "a string is missing"),
        ])
    func mistakes(members: String, reason: String) async throws {
        try Data("{\"text\": \"good\"}".utf8).write(to: file)
        let store = try ObservableStore(at: file)
        var failures = store.failures.makeAsyncIterator()
        try Data("{\n  \"text\": \"bad\",\n  \(members)\n}".utf8).write(to: file, options: .atomic)
        let failure = try #require(await failures.next())
        #expect(failure.description.contains(reason) && failure.description.contains("line 3"), "\(failure)")
        #expect(store[Keys.text] == "good")
        #expect(throws: StorageError.self) { try ObservableStore(at: file) }
    }

    @Test("A file that is rewritten in place, wrongly at first, keeps its last values until it is right")
    func inPlace() async throws {
        try Data("{\"text\": \"good\"}".utf8).write(to: file)
        let store = try ObservableStore(at: file)
        var failures = store.failures.makeAsyncIterator()
        var texts = store.values(of: Keys.text).makeAsyncIterator()
        #expect(await texts.next() == "good")
        try Data("{\n  \"text\": \"bad\",,\n}".utf8).write(to: file)
        let failure = try #require(await failures.next())
        #expect(failure.description.contains("line 2, column 17"), "\(failure)")
        #expect(store[Keys.text] == "good")
        try Data("{\n  \"text\": \"new\",\n}".utf8).write(to: file)
        #expect(await texts.next() == "new")
    }

    @Test("An array is no settings file, and the error names the file")
    func array() throws {
        try Data("[1]".utf8).write(to: file)
        let error = #expect(throws: StorageError.self) { try ObservableStore(at: file) }
        let message = "\(try #require(error))"
        #expect(message.contains(file.path) && message.contains("dictionary"), "\(message)")
        #expect(try text == "[1]")
    }

    @Test("A file whose format changes while it is open is edited in the one that it has", arguments: [JournalMode.edits, .off, .full()])
    func changingFormat(journal: JournalMode) async throws {
        try Data(Self.handwritten.utf8).write(to: file)
        let store = try ObservableStore(at: file, configuration: .with { $0.journal = journal })
        var counts = store.values(of: Keys.count).makeAsyncIterator()
        #expect(await counts.next() == 1)
        try PropertyListValue.dictionary(["count": 5]).encoded(as: .binary).write(to: file, options: .atomic)
        #expect(await counts.next() == 5)
        let date = StorageKey<Date?>("date")
        try await store.update { $0[date] = Date(timeIntervalSinceReferenceDate: 1) }
        try await store.flush()
        #expect(store[date] != nil)
        try Data(Self.handwritten.utf8).write(to: file, options: .atomic)
        #expect(await counts.next() == 1)
        #expect(throws: StorageError.self) { try store.set(Date(timeIntervalSinceReferenceDate: 2), for: date) }
        try await store.update { $0[Keys.count] = 2 }
        try await store.close()
        #expect(try text == Self.handwritten.replacing(": 1,", with: ": 2,"))
    }

    // MARK: Values that JSON does not have

    @Test("A date or data is refused with the key and the codec to use, and stored with that codec")
    func unencodable() async throws {
        let store = try ObservableStore(at: file)
        let date = Date(timeIntervalSinceReferenceDate: 0.25)
        for (name, remedy, set) in [
            ("date", ".iso8601", { try store.set(date, for: StorageKey<Date?>("date")) }),
            ("data", ".base64", { try store.set(Data([1, 2]), for: StorageKey<Data?>("data")) }),
            ("real", "nan (convert the file", { try store.set(.nan, for: StorageKey<Double?>("real")) }),
            ("deep", ".iso8601", { try store.set([date], for: StorageKey("deep", "dates", default: [Date]())) }),
        ] as [(String, String, () throws -> Void)] {
            let error = #expect(throws: StorageError.self) { try set() }
            let text = try #require(error).description
            #expect(text.contains(name) && text.contains(remedy) && text.contains(".iso8601") == (remedy == ".iso8601"), "\(text)")
        }
        #expect(store.entries.isEmpty)
        let (dateKey, dataKey) = (StorageKey<Date?>("date", codec: .iso8601), StorageKey<Data?>("data", codec: .base64))
        try await store.update { transaction in
            transaction[dateKey] = date
            transaction[dataKey] = Data([1, 2])
        }
        #expect(try text == "{\n  \"data\": \"AQI=\",\n  \"date\": \"2001-01-01T00:00:00.25Z\"\n}\n")
        let other = try ObservableStore(at: file)
        #expect(other[dateKey] == date)
        #expect(other[dataKey] == Data([1, 2]))
    }

    @Test("A policy that permits it makes the file binary when it is necessary", arguments: [JournalMode.edits, .full()])
    func policy(journal: JournalMode) async throws {
        try Data(Self.handwritten.utf8).write(to: file)
        let configuration = PropertyListFile.Configuration.with { ($0.formatPolicy, $0.journal) = (.binaryWhenNecessary, journal) }
        let store = try ObservableStore(at: file, configuration: configuration)
        try await store.update { $0[Keys.count] = 2 }
        try await store.update { $0[StorageKey<Data?>("data")] = Data([1]) }
        try await store.close()
        let (value, format) = try PropertyListValue.decode(Data(contentsOf: file))
        #expect(format == .binary)
        #expect(value == ["count": 2, "data": .data(Data([1])), "limits": ["time": 1.5, "tags": ["a", "b"]]])
    }
}
