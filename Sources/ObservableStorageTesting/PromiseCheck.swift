import Dispatch
import FoundationSubset
import ObservableStorage

struct PromiseCheck: Sendable {
    private struct Refusal: Error {}

    let promise: BackendPromise
    let timeout: Duration
    let interrupt: (@Sendable (Bool) async throws -> Void)?
    let open: @Sendable () async throws -> any StorageBackend

    func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        if !condition { throw BrokenPromise(promise: promise, reason: reason()) }
    }

    /// Requires that another process reads these entries.
    func requireStored(_ entries: [String: PropertyListValue], after cause: String) async throws {
        let stored = try await open().load().values
        try require(stored == entries, "\(cause), and \("\(stored)".prefix(200)) is stored, not \("\(entries)".prefix(200))")
    }

    /// The next event that meets a condition; throws if there is none in time.
    @discardableResult
    func next(
        in record: EventRecord, _ cause: String, where isAwaited: @escaping @Sendable (StorageEvent) async throws -> Bool
    ) async throws -> StorageEvent {
        try await withThrowingTaskGroup(of: StorageEvent.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await event in record.events where try await isAwaited(event) { return event }
                throw CancellationError()
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw BrokenPromise(promise: promise, reason: "\(cause) was not reported in \(timeout)")
            }
            guard let event = try await group.next() else { throw CancellationError() }
            return event
        }
    }

    /// Runs steps by several processes at once, and returns what is stored then.
    func concurrently(
        _ writers: Range<Int>, _ steps: Range<Int>,
        _ step: @escaping @Sendable (_ backend: any StorageBackend, _ writer: Int, _ number: Int) async throws -> Void
    ) async throws -> StorageEntries {
        try await withThrowingTaskGroup { group in
            for writer in writers {
                let backend = try await open()
                group.addTask { for number in steps { try await step(backend, writer, number) } }
            }
            try await group.waitForAll()
        }
        return try await open().load()
    }
}

// What a backend must guarantee.
extension PromiseCheck {
    func order() async throws {
        let stored = try await concurrently(0..<4, 0..<10) { backend, _, _ in
            _ = try await backend.edit { entries in
                try require(entries.count("up") == -entries.count("down"), "an edit has read only a part of the one before")
                entries.add(1, to: "up")
                entries.add(-1, to: "down")
            }
        }
        try require(stored.count("up") == 40, "of 40 concurrent edits that add 1, \(stored.count("up")) are stored")
    }

    func durability() async throws {
        let backend = try await open()
        let returned = try await backend.edit { ($0["kept"], $0["removed"]) = (1, "text") }
        try await requireStored(["kept": 1, "removed": "text"], after: "an edit has returned")
        try await requireStored(returned.values, after: "an edit has returned other entries")
        let rest = try await backend.edit { $0["removed"] = nil }
        try await requireStored(["kept": 1], after: "an entry was removed")
        try await requireStored(rest.values, after: "an edit that removes an entry has returned other entries")
        do {
            _ = try await backend.edit { entries in
                (entries["kept"], entries["new"]) = (2, 3)
                throw Refusal()
            }
            try require(false, "an edit whose closure has thrown an error returned")
        } catch is Refusal {}
        try await requireStored(["kept": 1], after: "an edit's closure has thrown an error")
        for value in Self.unusual {
            do {
                _ = try await backend.edit { ($0["kept"], $0["unusual"]) = (2, value) }
                _ = try await backend.edit { ($0["kept"], $0["unusual"]) = (1, nil) }
            } catch {
                try await requireStored(["kept": 1], after: "an edit has thrown \(error)")
            }
        }
    }

    func reports() async throws {
        let (backend, other) = (try await open(), try await open())
        let watch = EventRecord(of: backend, since: nil)
        try await next(in: watch, "the start of the watch") { $0.isChange }
        // More often than an edit or the start may be reported again.
        for isOwn in [true, false, false, false, true] {
            let cause = isOwn ? "an edit of its own" : "another one's edit"
            try await requireReport(of: isOwn ? backend : other, in: watch, to: backend, cause)
        }
        if let revision = try await backend.load().revision {
            let resumed = EventRecord(of: backend, since: revision)
            for _ in 0..<3 {
                try await requireReport(of: other, in: resumed, to: backend, "an edit after the revision since which it watches")
            }
        }
        try require(!watch.isOffQueue, "an event was reported on another queue than the given one")
    }

    private func requireReport(
        of writer: any StorageBackend, in watch: EventRecord, to backend: any StorageBackend, _ cause: String
    ) async throws {
        let stored = try await writer.edit { $0.add(1, to: "count") }
        try await next(in: watch, cause) { event in
            guard event.isChange else { return false }
            return try await backend.load()["count"] == stored["count"]
        }
    }

    func values() async throws {
        let backend = try await open()
        for value in Self.usual + Self.unusual {
            do {
                let expected = try backend.storable(value, for: "value")
                let returned = try await backend.edit { $0["value"] = expected }
                for found in [returned["value"], try await open().load()["value"]] {
                    try require(found == expected, "\(value) reads back as \(found.map { "\($0)" } ?? "nothing"), not as \(expected)")
                }
            } catch StorageError.unencodable {}
        }
        var names: [String] = []
        for name in ["a.b", "server/port", "ü 🗝", " ", "A", "a"] {
            do { _ = try await backend.edit { $0[name] = .string(name) } } catch is StorageError { continue }
            names.append(name)
            let stored = try await open().load()
            for name in names {
                let found = stored[name]
                try require(found == .string(name), "the entry \"\(name)\" reads back as \(found.map { "\($0)" } ?? "nothing")")
            }
        }
    }

    private static let usual: [PropertyListValue] = [
        true, 1, .real(1), false, 0, -1, .real(0.1), .integer(PropertyListInteger(Int64.min)), .integer(PropertyListInteger(UInt64.max)),
        "", "ü 🗝\r\n<&>\"", .data(Data()), .data(Data([0, 255])), .date(Date(timeIntervalSinceReferenceDate: 5)),
        .date(Date(timeIntervalSinceReferenceDate: 0.25)), [], [1, true, .real(1), "1", ["a": []]], [:], ["a": ["b": ["c": 1]], "": 2],
    ]

    private static let unusual: [PropertyListValue] = [.uid(1), .real(.infinity), "a\u{0}b", ["a\u{0}b": "\u{fffe}"], ["CF$UID": 1]]
}

/// The events of a watched backend.
final class EventRecord: Sendable {
    let events: AsyncStream<StorageEvent>
    private let state = Lock((isReachable: true, isOffQueue: false))
    private let token = Lock<ObservationToken?>(nil)

    init(of backend: any StorageBackend, since revision: StorageRevision?) {
        let (events, continuation) = AsyncStream<StorageEvent>.makeStream()
        let (queue, key) = (DispatchQueue(label: "ObservableStorageTesting"), DispatchSpecificKey<Bool>())
        queue.setSpecific(key: key, value: true)
        self.events = events
        let watch = backend.watch(since: revision, on: queue) { [weak self] event in
            self?.state.withLock { state in
                if case .reachable(let isReachable) = event { state.isReachable = isReachable }
                if DispatchQueue.getSpecific(key: key) == nil { state.isOffQueue = true }
            }
            continuation.yield(event)
        }
        token.withLock { $0 = watch }
    }

    var isReachable: Bool { state.withLock { $0.isReachable } }
    var isOffQueue: Bool { state.withLock { $0.isOffQueue } }
}

extension StorageEvent {
    /// Whether a store reads the entries after it, or applies differences.
    var isChange: Bool {
        switch self {
        case .changed, .differences: true
        case .reachable, .failed: false
        }
    }
}

extension StorageEntries {
    func count(_ key: String) -> Int { self[key]?.int ?? 0 }

    mutating func add(_ number: Int, to key: String) {
        self[key] = .integer(PropertyListInteger(Int64(count(key) + number)))
    }
}
