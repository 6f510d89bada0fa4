import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Looking now, and writing now", .timeLimit(.minutes(10)))
struct ImmediateWorkTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ entries: [String: PropertyListValue], to name: String = "settings.plist") throws {
        try PropertyListValue.dictionary(entries).encoded(as: .binary).write(to: folder.file(name), options: .atomic)
    }

    @Test("After reload, what is on disk has been read and told, in the store and in its layers")
    func reload() async throws {
        try write(["count": 1])
        let store = try ObservableStore(at: file, defaults: [folder.file("defaults.plist")])
        let told = Recorder<Int>()
        let tokens = [
            store.addUpdateListener(for: Keys.count) { told.record($0.newValue) },
            store.addUpdateListener(for: Keys.text) { told.record($0.newValue.count) },
        ]
        defer { withExtendedLifetime(tokens) {} }
        try await store.reload()
        #expect(told.elements == [])
        for number in 2...20 {
            try write(["count": .integer(PropertyListInteger(Int64(number)))])
            try await store.reload()
            #expect(store[Keys.count] == number)
            _ = try await told.elements { $0.last == number }
        }
        try write(["text": "four"], to: "defaults.plist")
        try await store.reload()
        #expect(store[Keys.text] == "four")
        _ = try await told.elements { $0.last == 4 }
    }

    @Test("Listeners were called when reload returns, also in a storage that reports no changes")
    func reloadOfSilentStorage() async throws {
        let box = Unreported(stored: 0)
        let store = try ObservableStore(backend: DictionaryBackend(get: { ["count": box.value] }, set: { _ in }))
        let told = Recorder<Int>()
        let token = store.addUpdateListener(for: Keys.count) { told.record($0.newValue) }
        defer { withExtendedLifetime(token) {} }
        try await store.reload()
        for number in 1...20 {
            box.set(.integer(PropertyListInteger(Int64(number))))
            try await store.reload()
            #expect(told.elements == Array(1...number))
        }
    }

    /// A value that others set without a report.
    private final class Unreported: Sendable {
        private let stored: Lock<PropertyListValue>

        init(stored: PropertyListValue) { self.stored = Lock(stored) }

        var value: PropertyListValue { stored.withLock { $0 } }

        func set(_ value: PropertyListValue) { stored.withLock { $0 = value } }
    }

    @Test("A file that cannot be read is an error, and the last values are kept")
    func unreadable() async throws {
        try write(["count": 1])
        let store = try ObservableStore(at: file)
        try folder.make("settings.plist", "no list")
        await #expect(throws: StorageError.self) { try await store.reload() }
        #expect(store[Keys.count] == 1)
        try write(["count": 2])
        try await store.reload()
        #expect(store[Keys.count] == 2)
        try await store.close()
        await #expect(throws: StorageError.closed) { try await store.reload() }
    }

    /// Calls `flushNow()`, which code of tasks cannot, on a thread of its own.
    private func flushNow(_ store: ObservableStore) async -> StorageError? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.failure(of: store)) }
        }
    }

    private static func failure(of store: ObservableStore) -> StorageError? {
        do throws(StorageError) {
            try store.flushNow()
            return nil
        } catch {
            return error
        }
    }

    @Test("flushNow returns after the edits are in the file, and throws what prevents that")
    func flushNow() async throws {
        let store = try ObservableStore(at: file)
        for number in 1...10 {
            store[Keys.count] = number
            #expect(await flushNow(store) == nil)
            #expect(try PropertyListValue.decode(Data(contentsOf: file)).value["count"]?.int == number)
        }
        let unreliable = UnreliableBackend()
        let other = try ObservableStore(backend: unreliable)
        unreliable.fail(.unwritable(file: "unreliable", reason: "full"))
        other[Keys.count] = 1
        #expect(await flushNow(other) != nil)
    }

    @Test("In a listener and in a transaction, flushNow is an error, and no deadlock")
    func inside() async throws {
        let store = try ObservableStore(at: file)
        let failures = Recorder<StorageError?>()
        let token = store.addUpdateListener(for: Keys.count) { _ in failures.record(Self.failure(of: store)) }
        store[Keys.count] = 1
        #expect(failures.elements.count == 1)
        try await store.update { transaction in
            failures.record(Self.failure(of: store))
            transaction[Keys.text] = "a"
        }
        for failure in failures.elements { #expect("\(try #require(failure))".contains("call flush() in a task")) }
        #expect(failures.elements.count == 2)
        token.cancel()
        #expect(await flushNow(store) == nil)
    }

    @Test("It is one at once also in a transaction of a storage that does not block")
    func insideOfService() async throws {
        let service = ServiceBackend()
        let store = try await ObservableStore.open(service)
        let failures = Recorder<StorageError?>()
        try await store.update { transaction in
            store[Keys.count] = 1
            failures.record(Self.failure(of: store))
            transaction[Keys.text] = "a"
        }
        #expect("\(try #require(failures.elements.first ?? nil))".contains("call flush() in a task"))
    }

    @Test("As many tasks as there are threads can wait in it")
    func tasks() async throws {
        let store = try ObservableStore(at: file)
        await withTaskGroup { group in
            for number in 0..<4 * ProcessInfo.processInfo.activeProcessorCount {
                group.addTask {
                    store[StorageKey("key\(number)", default: 0)] = number
                    #expect(Self.failure(of: store) == nil)
                }
            }
        }
        #expect(store.entries.count == 4 * ProcessInfo.processInfo.activeProcessorCount)
    }

    @Test("A file that must exist is an error with its name if it does not, and may be deleted later")
    func mustExist() async throws {
        let configuration = PropertyListFile.Configuration.with { $0.mustExist = true }
        let reason = "there is no such file; create it, or correct the path"
        let missing = StorageError.unreadable(file: file.path, reason: reason)
        #expect(throws: missing) { try ObservableStore(at: file, configuration: configuration) }
        #expect(throws: missing) { try ObservableStore.read(at: file, configuration: configuration) }
        #expect(throws: missing) { try PropertyListFile(at: file, configuration: configuration).edit { $0["count"] = 1 } }
        #expect(try folder.names().filter { !$0.hasPrefix(".") } == [])
        try write(["count": 1])
        let store = try ObservableStore(at: file, configuration: configuration)
        #expect(store[Keys.count] == 1)
        try FileManager.default.removeItem(at: file)
        try await store.reload()
        #expect(store[Keys.count] == 0)
        store[Keys.count] = 2
        try await store.flush()
        #expect(FileManager.default.fileExists(atPath: file.path))
    }
}
