import Dispatch
import Foundation
import ObservableStorage
import ObservableStorageTesting
import PropertyListCoding
import TestSupport
import Testing

@Suite("Promises of a backend", .timeLimit(.minutes(10)))
struct BackendPromiseTests {
    @Test("The backends in memory keep them", arguments: BackendPromise.allCases)
    func memory(promise: BackendPromise) async throws {
        let memory = InMemoryBackend()
        try await promise.check { memory }
        let values = Lock<[String: PropertyListValue]>([:])
        let dictionary = DictionaryBackend(get: { values.withLock { $0 } }, set: { entries in values.withLock { $0 = entries.values } })
        try await promise.check { dictionary }
    }

    @Test("A backend of another package, which has only what has to be, keeps them", arguments: BackendPromise.allCases)
    func thirdParty(promise: BackendPromise) async throws {
        let storage = try Fixture.thirdParty.make()
        let backend = try storage.backend
        try await promise.check { backend }
    }

    @Test("A backend that breaks one is found, and the error names it", arguments: Fault.allCases)
    func broken(fault: Fault) async throws {
        let backend = FaultyBackend(fault)
        let error = await #expect(throws: BrokenPromise.self) { try await fault.promise.check(timeout: .milliseconds(500)) { backend } }
        #expect(error?.promise == fault.promise)
        #expect("\(try #require(error))".hasPrefix("the promise of \(fault.promise) is broken: "))
    }

    @Test("An error that a backend throws is one of the promise that was checked")
    func thrown() async throws {
        let backend = UnreliableBackend()
        backend.fail(.unreadable(file: "f", reason: "it is gone"))
        for promise in BackendPromise.allCases {
            let error = await #expect(throws: BrokenPromise.self) { try await promise.check { backend } }
            #expect(error?.promise == promise && error?.reason.contains("it is gone") == true)
        }
    }

    @Test("A storage that the test interrupts reports that, and does not store what it has refused", arguments: [false, true])
    func interrupted(storesLater: Bool) async throws {
        let backend = InterruptibleBackend(storesLater: storesLater)
        do {
            try await BackendPromise.reachability.check(interrupt: { backend.interrupt($0) }, { backend })
            #expect(!storesLater)
        } catch is BrokenPromise {
            #expect(storesLater)
        }
    }

    @Test(
        "A backend that takes what its limits allow, and no more, keeps them",
        arguments: [StorageLimits(operations: 1), StorageLimits(valueSize: 150), StorageLimits(commitSize: 200)])
    func limited(limits: StorageLimits) async throws {
        let backend = LimitedBackend(limits: limits)
        for promise in [BackendPromise.limits, .revisions] { try await promise.check { backend } }
    }

    /// What a backend does wrong.
    enum Fault: CaseIterable {
        case editsAnEarlierState, storesWhatHasThrown, returnsBeforeStoring, doesNotReport, reportsNoStart, convertsReals, countsNothing
        case omitsRemovals, skipsDifferences, losesACommit, ignoresReads, takesFewEntries, isAlwaysUnreachable
        case returnsRemovals, reportsOnlyAStart, ignoresCase, comparesEditedEntries

        var promise: BackendPromise {
            switch self {
            case .editsAnEarlierState: .order
            case .storesWhatHasThrown, .returnsBeforeStoring, .returnsRemovals: .durability
            case .doesNotReport, .reportsNoStart: .reports
            case .convertsReals, .ignoresCase: .values
            case .countsNothing: .revisions
            case .omitsRemovals, .skipsDifferences, .reportsOnlyAStart: .differences
            case .losesACommit: .commits
            case .ignoresReads, .comparesEditedEntries: .reads
            case .takesFewEntries: .limits
            case .isAlwaysUnreachable: .reachability
            }
        }
    }
}

/// A backend in memory that refuses edits that are larger than its limits.
private struct LimitedBackend: BlockingStorageBackend {
    let name = "limited"
    let limits: StorageLimits
    private let memory = InMemoryBackend()

    init(limits: StorageLimits) {
        self.limits = limits
    }

    func load() throws -> StorageEntries { memory.load() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try memory.edit { entries in
            try body(&entries)
            let names = entries.editedKeys
            let sizes = try names.map { try entries[$0]?.encoded(as: .binary).count ?? 0 }
            guard names.count <= limits.operations ?? .max, sizes.max() ?? 0 <= limits.valueSize ?? .max,
                sizes.reduce(0, +) + names.joined().utf8.count <= limits.commitSize ?? .max
            else { throw StorageError.tooLarge(key: nil, reason: "\(sizes)") }
        }
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        memory.watch(since: revision, on: queue, report)
    }
}

/// A backend in memory with a fault.
private final class FaultyBackend: BlockingStorageBackend {
    let name = "faulty"
    private let fault: BackendPromiseTests.Fault
    private let memory = InMemoryBackend()
    private let earlier = Lock<StorageEntries?>(nil)

    init(_ fault: BackendPromiseTests.Fault) {
        self.fault = fault
    }

    func load() throws -> StorageEntries {
        let entries = memory.load()
        switch fault {
        case .countsNothing: return entries.stored(at: StorageRevision(history: "h", number: 1))
        case .returnsBeforeStoring: return earlier.withLock { $0 } ?? StorageEntries()
        default: return entries
        }
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let before = memory.load()
        switch fault {
        case .editsAnEarlierState, .ignoresReads:
            var edited = earlier.withLock { $0 } ?? before
            try body(&edited)
            if fault == .ignoresReads && edited.readKeys != ["count"] { return try memory.edit(body) }
            earlier.withLock { $0 = before }
            return try memory.edit { [edited] entries in for key in edited.editedKeys { entries[key] = edited[key] } }
        case .storesWhatHasThrown:
            var failure: (any Error)?
            let stored = try memory.edit { entries in
                do { try body(&entries) } catch { failure = error }
            }
            if let failure { throw failure }
            return stored
        case .returnsBeforeStoring:
            earlier.withLock { $0 = before }
            return try memory.edit(body)
        case .convertsReals:
            return try memory.edit { entries in
                try body(&entries)
                for key in entries.editedKeys where entries[key] == .real(1) { entries[key] = 1 }
            }
        case .comparesEditedEntries:
            let stale = earlier.exchange(before) ?? before
            var edited = stale
            try body(&edited)
            guard edited.editedKeys.allSatisfy({ stale[$0] == before[$0] }) else { return try memory.edit(body) }
            return try memory.edit { [edited] entries in for key in edited.editedKeys { entries[key] = edited[key] } }
        case .returnsRemovals:
            let stored = try memory.edit(body)
            return StorageEntries(before.values.merging(stored.values) { $1 }, revision: stored.revision)
        case .ignoresCase:
            return try memory.edit { entries in
                try body(&entries)
                for key in entries.editedKeys {
                    for other in entries.values.keys where other != key && other.lowercased() == key.lowercased() { entries[other] = nil }
                }
            }
        case .countsNothing: return try memory.edit(body).stored(at: StorageRevision(history: "h", number: 1))
        case .takesFewEntries:
            return try memory.edit { entries in
                try body(&entries)
                if entries.editedKeys.count > 100 { throw StorageError.tooLarge(key: nil, reason: "more than 100 entries") }
            }
        default: return try memory.edit(body)
        }
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        switch fault {
        case .doesNotReport: queue.async { report(.changed) }
        case .isAlwaysUnreachable: queue.async { report(.reachable(false)) }
        case .reportsOnlyAStart:
            queue.async { report(.changed) }
            return ObservationToken {}
        default: break
        }
        let isFirst = Lock(true)
        return memory.watch(since: revision, on: queue) { [fault] event in
            switch (fault, event) {
            case (.doesNotReport, _), (.reportsNoStart, .changed): return
            case (.omitsRemovals, .differences(let changes)):
                let values = changes.values.filter { $0.value != nil }
                report(.differences(StorageChanges(values, since: changes.since, revision: changes.revision)))
            case (.skipsDifferences, .differences):
                if !isFirst.exchange(false) { report(event) }
            default: report(event)
            }
        }
    }

    func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        let commits = await memory.commits(since: revision)
        guard fault == .losesACommit, let commits, commits.count > 1 else { return commits }
        return [commits[0]] + commits.dropFirst(2)
    }
}

/// A backend in memory that refuses every edit while it is interrupted.
private final class InterruptibleBackend: BlockingStorageBackend {
    let name = "interruptible"
    private let memory = InMemoryBackend()
    private let storesLater: Bool
    private let isInterrupted = Lock(false)
    private let events = ChangePublisher<StorageEvent>()

    init(storesLater: Bool) {
        self.storesLater = storesLater
    }

    func interrupt(_ isInterrupted: Bool) {
        self.isInterrupted.withLock { $0 = isInterrupted }
        events.publish(.reachable(!isInterrupted))
    }

    func load() -> StorageEntries { memory.load() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        guard isInterrupted.withLock({ $0 }) else { return try memory.edit(body) }
        if storesLater { _ = try memory.edit(body) }
        throw StorageError.unwritable(file: name, reason: "it is interrupted")
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let tokens = [memory.watch(since: revision, on: queue, report), events.subscribe { event in queue.async { report(event) } }]
        return ObservationToken { for token in tokens { token.cancel() } }
    }
}
