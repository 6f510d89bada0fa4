import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// The format of new files, and files that another process deletes.
@Suite("Policies for the file", .timeLimit(.minutes(10)))
struct FilePolicyTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ entries: PropertyListValue, as format: PropertyListFormat = .binary) throws {
        try entries.encoded(as: format).write(to: file, options: .atomic)
    }

    private var stored: [String: PropertyListValue] {
        get throws { try PropertyListFile(at: file).load().values }
    }

    @Test(
        "A new file has the given format, an existing one keeps its own", arguments: PropertyListFormat.allCases,
        [nil] + PropertyListFormat.allCases)
    func format(format: PropertyListFormat, existing: PropertyListFormat?) async throws {
        if let existing { try write(["text": "t"], as: existing) }
        let store = try ObservableStore(at: file, configuration: .with { $0.format = format })
        store[Keys.count] = 5
        try await store.flush()
        #expect(try PropertyListValue.decode(Data(contentsOf: file)).format == existing ?? format)
        #expect(try stored["count"] == 5)
    }

    @Test("Values set before a new XML file is written are those that it can represent")
    func rounded() async throws {
        let store = try ObservableStore(at: file, configuration: .with { $0.format = .xml })
        let date = StorageKey("date", default: Date.distantPast)
        store[date] = Date(timeIntervalSinceReferenceDate: 1.5)
        #expect(store[date] == Date(timeIntervalSinceReferenceDate: 1))
        #expect(throws: StorageError.self) { try store.set("\u{1}", for: Keys.text) }
    }

    @Test("A path below a file is refused at opening, with the file and the remedy", arguments: ["", "/folder"])
    func belowFile(rest: String) throws {
        try Data("text".utf8).write(to: folder.file("file"))
        try folder.link("link", to: "file")
        for name in ["file", "link"] {
            let list = folder.file(name + rest + "/list.plist")
            let reason = "\(folder.path("file")) on its path is a file, not a folder; correct the path, or move that file away"
            let error = StorageError.unreadable(file: list.path, reason: reason)
            #expect(throws: error) { try ObservableStore(at: list) }
            #expect(throws: error) { try ObservableStore.read(at: list) }
        }
        #expect(try folder.names() == ["file", "link"])
        // As for a user without a home.
        #expect(try ObservableStore.read(at: URL(fileURLWithPath: "/dev/null/list.plist"))[StorageKey("count", default: 0)] == 0)
    }

    @Test("A store whose folder is a file for a moment keeps its last values, and goes on when the folder is back")
    func folderReplacedByFile() async throws {
        let list = folder.file("a/list.plist")
        for (number, name) in ["before", "after"].enumerated() {
            try folder.makeFolder(name)
            let entries: PropertyListValue = ["count": .integer(PropertyListInteger(Int64(5 + number)))]
            try entries.encoded(as: .binary).write(to: folder.file(name + "/list.plist"))
        }
        // Links and files replace each other in one step.
        try folder.link("a", to: "before")
        let store = try ObservableStore(at: list)
        var (values, failures) = (store.values(of: Keys.count).makeAsyncIterator(), store.failures.makeAsyncIterator())
        #expect(await values.next() == 5)
        try Data("text".utf8).write(to: folder.file("file"))
        try #require(rename(folder.path("file"), folder.path("a")) == 0)
        let failure = try #require(await failures.next())
        #expect(failure.description.hasPrefix("\(list.path): cannot be read: \(folder.path("a")) on its path is a file, not a folder"))
        #expect(store[Keys.count] == 5)
        try #require(rename(folder.link("other", to: "after"), folder.path("a")) == 0)
        #expect(await values.next() == 6)
        try await store.close()
    }

    @Test("A deleted file removes all values by default")
    func removeAll() async throws {
        try write(["count": 5])
        let store = try ObservableStore(backend: PropertyListFile(withoutPausesAt: file))
        var values = store.values(of: Keys.count).makeAsyncIterator()
        #expect(await values.next() == 5)
        try FileManager.default.removeItem(at: file)
        #expect(await values.next() == 0)
    }

    @Test(
        "The last values of a deleted file are kept if that is asked for, and the next write stores all of them",
        arguments: PropertyListFormat.allCases)
    func keepLastValues(format: PropertyListFormat) async throws {
        try write(["count": 5, "text": "t"], as: format)
        let store = try ObservableStore(backend: PropertyListFile(withoutPausesAt: file, onDeletion: .keepLastValues))
        var failures = store.failures.makeAsyncIterator()
        store[Keys.count] = 6
        try await store.flush()
        try FileManager.default.removeItem(at: file)
        let reason = "it was deleted; its last values are kept in memory, and the next write stores them again"
        #expect(await failures.next() == .unreadable(file: file.path, reason: reason))
        #expect(store.entries == ["count": 6, "text": "t"])
        #expect(store.availability == .available)
        store[Keys.note] = "n"
        try await store.flush()
        #expect(try stored == ["count": 6, "text": "t", "note": "n"])
        #expect(try PropertyListValue.decode(Data(contentsOf: file)).format == format)
    }

    @Test("An edit that notices the deletion first stores the last values as well")
    func editAfterDeletion() async throws {
        try write(["count": 5, "text": "t"])
        let backend = PropertyListFile(withoutPausesAt: file, onDeletion: .keepLastValues)
        #expect(try backend.load().values == ["count": 5, "text": "t"])
        try FileManager.default.removeItem(at: file)
        _ = try backend.edit { $0["count"] = 6 }
        #expect(try stored == ["count": 6, "text": "t"])
        try FileManager.default.removeItem(at: file)
        _ = try backend.edit { $0["count"] = nil }
        #expect(try stored == ["text": "t"])
    }

    @Test("A file that is created again takes effect as it is")
    func createdAgain() async throws {
        try write(["count": 5, "text": "t"])
        let store = try ObservableStore(backend: PropertyListFile(withoutPausesAt: file, onDeletion: .keepLastValues))
        var failures = store.failures.makeAsyncIterator()
        try FileManager.default.removeItem(at: file)
        _ = await failures.next()
        var values = store.values(of: Keys.count).makeAsyncIterator()
        #expect(await values.next() == 5)
        try write(["count": 7])
        #expect(await values.next() == 7)
        #expect(store.entries == ["count": 7])
        // It can be deleted once more.
        try FileManager.default.removeItem(at: file)
        _ = await failures.next()
        #expect(store.entries == ["count": 7])
    }

    @Test("A file that never existed has no values to keep")
    func neverExisted() async throws {
        let store = try ObservableStore(at: file, configuration: .with { $0.onDeletion = .keepLastValues })
        #expect(store.entries == [:])
        store[Keys.count] = 5
        try await store.flush()
        #expect(try stored == ["count": 5])
    }

    @Test("A store names its file; one in memory has none")
    func location() throws {
        let store = try ObservableStore(at: file)
        #expect(store.name == file.path && store.url == file)
        let inMemory = try ObservableStore(backend: InMemoryBackend())
        #expect(inMemory.name == "memory" && inMemory.url == nil)
    }
}
