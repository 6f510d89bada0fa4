import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Who makes the file of a log, and who waits for it: over the entries alone, whose files are made by a closure of the test.
@Suite("Making the files of logs", .timeLimit(.minutes(10)))
struct LogMakingTests {
    private final class Hook: Sendable {
        typealias Body = @Sendable (_ halfSize: Int) throws(EditLogRefusal) -> Void
        let body = Lock<Body>({ _ in })
    }

    /// Entries with a log, and what happens while a file is made for it.
    private final class Logged: Sendable {
        let fixture: EditLogFixture
        let cache: EntryCache
        private let hook: Hook

        init(_ entries: [String: PropertyListValue] = [:]) throws {
            let fixture = try EditLogFixture()
            let hook = Hook()
            cache = EntryCache(
                entries: StoredValues(entries), executor: DispatchQueueExecutor(label: "LogMakingTests"), log: EditLog(isOn: true)
            ) { [list = fixture.list] halfSize throws(EditLogRefusal) in
                let made = try EditLogFolder(list: list, calls: .live).makeLog(halfSize: halfSize)
                let body = hook.body.withLock { $0 }
                do throws(EditLogRefusal) {
                    try body(halfSize)
                } catch {
                    made.remove()
                    throw error
                }
                return made
            }
            (self.fixture, self.hook) = (fixture, hook)
        }

        /// Sets what is done while the next files are made.
        func whileMaking(_ body: @escaping Hook.Body) {
            hook.body.withLock { $0 = body }
        }

        func set(_ name: String, _ value: PropertyListValue) throws {
            _ = try cache.change { state throws(StorageError) in try state.edit([name: value]) }
        }

        /// The edits that whoever opens the list after a kill would make.
        var logged: [LoggedEdit] {
            cache.update { $0.log.file }?.edits ?? []
        }
    }

    @Test("A store that is closed while a file is made for it leaves no file, and the edit's call returns")
    func closing() throws {
        let logged = try Logged()
        let cache = logged.cache
        logged.whileMaking { [weak cache] _ in
            guard let cache else { return }
            // What closing with `discardingEdits: true` does on the store's queue.
            cache.update { $0.isClosed = true }
            let edits = cache.take { $0.discardPending() }
            #expect(edits.keys.sorted() == ["k"])
            cache.endLog(discardingEdits: true)
        }
        try logged.set("k", 1)
        #expect(!FileManager.default.fileExists(atPath: logged.fixture.logs))
        #expect(cache.update { $0.log.file } == nil)
        #expect(throws: StorageError.closed) { try logged.set("k", 2) }
    }

    @Test("What another process has changed is merged while a call waits for the file that its edit needs")
    func merging() throws {
        let logged = try Logged(["k": 1, "other": 1])
        let cache = logged.cache
        let outcome = Lock<DispatchTimeoutResult?>(nil)
        logged.whileMaking { [weak cache] _ in
            guard let cache else { return }
            let merged = DispatchGroup()
            DispatchQueue.global().async(group: merged) {
                _ = cache.change { $0.merge(["k": 5, "other": 5], origin: .external) }
            }
            // Only a failure takes that long.
            outcome.withLock { $0 = merged.wait(timeout: .now() + 60) }
        }
        try logged.set("k", 2)
        #expect(outcome.withLock { $0 } == .success)
        #expect(cache.update { [$0.entries["k"], $0.entries["other"]] } == [2, 5])
        // The edit was made over both values.
        let one: PropertyListValue? = 1, five: PropertyListValue? = 5
        #expect(logged.logged.map(\.over) == [one.fingerprint, five.fingerprint])
        #expect(logged.logged.map(\.value) == [2, 2])
        cache.endLog(discardingEdits: true)
    }

    @Test("An edit that another call has made is in the file before a second one returns")
    func secondEdit() throws {
        let logged = try Logged()
        let second = DispatchGroup()
        logged.whileMaking { [weak logged] _ in
            guard let logged else { return }
            // The file is made for the first edit; the second one waits for it, or finds it.
            DispatchQueue.global().async(group: second) {
                do {
                    try logged.set("b", 2)
                } catch {
                    Issue.record(error)
                }
                #expect(logged.logged.map(\.key) == ["a", "b"])
            }
        }
        try logged.set("a", 1)
        second.wait()
        #expect(logged.logged.map(\.key) == ["a", "b"])
        logged.cache.endLog(discardingEdits: true)
    }

    @Test("A larger file is made while edits go on, and has all of them")
    func growth() throws {
        let logged = try Logged()
        let sizes = Lock<[Int]>([])
        let isMade = DispatchSemaphore(value: 0)
        logged.whileMaking { halfSize in
            sizes.withLock { $0.append(halfSize) }
            if halfSize > EditLogFormat.smallestHalf { isMade.signal() }
        }
        // A record has 64 bytes: the first half is full after 1,024 edits, the second one has room for the others.
        for number in 1...1_500 as ClosedRange<Int64> { try logged.set("number", .integer(PropertyListInteger(number))) }
        isMade.wait()
        // Released after the larger file is in use.
        logged.cache.logGrowing.withLock { _ in }
        #expect(sizes.withLock { $0 } == [EditLogFormat.smallestHalf, EditLogFormat.smallestHalf * EditLogFormat.growth])
        #expect(logged.logged.map(\.value) == (1...1_500 as ClosedRange<Int64>).map { .integer(PropertyListInteger($0)) })
        #expect(logged.fixture.logNames.count == 1)
        logged.cache.endLog(discardingEdits: true)
        #expect(!FileManager.default.fileExists(atPath: logged.fixture.logs))
    }

    @Test("If no larger file can be made, edits are logged as long as the present one has room")
    func failedGrowth() throws {
        let logged = try Logged()
        let failed = DispatchSemaphore(value: 0)
        logged.whileMaking { halfSize throws(EditLogRefusal) in
            guard halfSize > EditLogFormat.smallestHalf else { return }
            failed.signal()
            throw EditLogRefusal(error: .unwritable(file: "k", reason: "no space"))
        }
        for number in 1...1_500 as ClosedRange<Int64> { try logged.set("number", .integer(PropertyListInteger(number))) }
        failed.wait()
        logged.cache.logGrowing.withLock { _ in }
        #expect(logged.cache.update { $0.log.refusal } == nil)
        #expect(logged.logged.count == 1_500)
        // Full, and no larger one can be made: the store works without a log.
        for number in 1...1_500 as ClosedRange<Int64> { try logged.set("number", .integer(PropertyListInteger(-number))) }
        #expect(logged.cache.update { $0.log.refusal } == .unwritable(file: "k", reason: "no space"))
        logged.cache.endLog(discardingEdits: true)
        #expect(logged.fixture.logNames.isEmpty)
    }
}
