import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Processes that exit and stores that are released with unwritten edits.
@Suite("Exit and release", .timeLimit(.minutes(10)))
struct ExitTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("settings.plist")
    }

    private func stored() throws -> [String: PropertyListValue] {
        try PropertyListFile(at: URL(fileURLWithPath: path)).load().values
    }

    private func end(_ way: String) async throws -> Subprocess {
        try await Subprocess.finished("Peer", ["exit", way, path])
    }

    @Test(
        "An edit made by an atexit handler that was registered before the first store is written", arguments: ["late", "late-inside"])
    func late(way: String) async throws {
        let ended = try await end(way)
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        #expect(try stored() == ["count": 5])
    }

    @Test("What cannot be written is abandoned in time, and logged with its keys", arguments: ["nested", "stuck", "observed"])
    func bounded(way: String) async throws {
        let ended = try await end(way)
        #expect(ended.status == 0)
        let name = way == "nested" ? path : "stuck"
        #expect(
            ended.errors
                == "ObservableStorage: \(name): cannot be written: the process ended before it was done; the last edits are lost, of \"count\"\n"
        )
    }

    @Test(
        "Exiting inside a transaction loses no earlier edit, nor one made inside through the store",
        arguments: [false, true])
    func exitInside(isSetInside: Bool) async throws {
        let ended = try await Subprocess.finished("Peer", ["exit-inside", path, isSetInside ? "after-set" : "before"])
        #expect(ended.status == 0)
        #expect(try stored() == ["count": 5])
    }

    @Test(
        "A process that exits with all of its stores suspended writes their edits, also those made at its end",
        arguments: ["suspended", "suspended-late"])
    func suspended(way: String) async throws {
        let ended = try await end(way)
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        #expect(ended.text == "true true\n")
        #expect(try stored() == ["count": 5])
    }

    @Test(
        "A forked child makes each call of a store and exits without waiting, writes nothing, and tells the remedy, also in a store of its own",
        arguments: ["fork", "fork-opened"])
    func fork(way: String) async throws {
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: URL(fileURLWithPath: path))
        let ended = try await end(way)
        #expect(ended.status == 0)
        #expect(try stored() == ["count": 1])
        let message = """
            \(path): cannot be written: a store was opened before this process was forked, and a forked child writes nothing; fork before \
            that, or execute a program in the child

            """
        #expect(ended.text == String(repeating: message, count: 12) + "child: 7\n")
        #expect(ended.errors.contains(message), "\(ended.errors)")
        #expect(!ended.errors.contains("tried again"), "\(ended.errors)")
    }

    @Test("A store released without having been able to write makes one last attempt, for which the exit waits")
    func releasedAtEnd() async throws {
        let ended = try await end("released")
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        #expect(try stored() == ["count": 5])
    }

    @Test("The exit writes the edits of a store that is being released on another thread")
    func going() async throws {
        let ended = try await end("going")
        #expect(ended.status == 0)
        #expect(ended.errors == "ObservableStorage: \(path): cannot be written: not now; the edits are kept in memory and tried again\n")
        #expect(try stored() == ["count": 5])
    }

    @Test(
        "A store released while it cannot write makes one last attempt; what it cannot write is reported",
        arguments: [true, false])
    func released(isRepaired: Bool) async throws {
        let storage = try Fixture.memory.make()
        let backend = UnreliableBackend(try storage.backend)
        let failure = StorageError.unwritable(file: "unreliable", reason: "full", edits: .kept)
        var store: ObservableStore? = try ObservableStore(backend: backend)
        backend.fail(failure)
        // Its next scheduled attempt is half a minute away.
        await store?.synchronizer.failWrites(11)
        let failures = try #require(store?.failures)
        store?[Keys.count] = 5
        var heard = failures.makeAsyncIterator()
        #expect(await heard.next() == failure)
        if isRepaired { backend.fail(nil) }
        weak let released = store
        store = nil
        // Checks may have failed as well until then. The stream ends with the store.
        var lost: [StorageError] = []
        while let error = await heard.next() {
            if error != failure { lost.append(error) }
        }
        #expect(lost == (isRepaired ? [] : [failure.with(.lost(keys: ["count"]))]))
        #expect(released == nil)
        let stored = try await backend.storage.load().values
        #expect(try isRepaired ? storage.entries == ["count": 5] : stored.isEmpty)
    }

    @Test("A store that cannot write can be closed, and reports what is lost")
    func discarding() async throws {
        let backend = UnreliableBackend()
        let store = try ObservableStore(backend: backend)
        let failure = StorageError.unwritable(file: "unreliable", reason: "full", edits: .kept)
        backend.fail(failure)
        let failures = store.failures
        store[Keys.count] = 5
        await #expect(throws: failure) { try await store.close() }
        try await store.close(discardingEdits: true)
        #expect(throws: StorageError.closed) { try store.set(6, for: Keys.count) }
        var heard: [StorageError] = []
        for await error in failures { heard.append(error) }
        #expect(Set(heard) == [failure, failure.with(.lost(keys: ["count"]))])
        backend.fail(nil)
        try await store.flush()
        #expect(try await backend.storage.load().values.isEmpty)
    }
}

extension Synchronizer {
    /// Records failures, which delay the next attempt.
    fileprivate func failWrites(_ count: Int) {
        for _ in 0..<count { _ = schedule.writes.fail() }
    }
}
