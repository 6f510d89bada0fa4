import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import EtcdStorage

/// What a store reports when its member has lost events.
@Suite("A store and the faults of members", .timeLimit(.minutes(10))) struct EtcdStoreFaultTests {
    private static let names = ["a", "b", "c", "d"]

    private func key(_ name: String) -> StorageKey<Int> { StorageKey(name, default: 0) }

    /// Everything that is stored at a revision.
    fileprivate static func range(_ keyValues: [KeyValue], at revision: Int64) -> RangeRequest.Response {
        RangeRequest.Response(header: header(revision), keyValues: keyValues, count: Int64(keyValues.count))
    }

    private static func puts(_ keyValues: [KeyValue], at revision: Int64) -> WatchResponse {
        events(keyValues.map { WatchEvent(keyValue: $0) }, at: revision)
    }

    private static func events(_ events: [WatchEvent], at revision: Int64) -> WatchResponse {
        WatchResponse(header: header(revision), events: events)
    }

    /// The end of a watch whose history has been compacted.
    private static func compacted(_ compactRevision: Int64, at revision: Int64) -> WatchResponse {
        WatchResponse(header: header(revision), isCanceled: true, compactRevision: compactRevision)
    }

    private static func header(_ revision: Int64) -> ResponseHeader {
        ResponseHeader(clusterID: 7, revision: revision)
    }

    private func backend(_ member: ScriptedMember, timing: EtcdWatch.Timing = .patient) throws -> EtcdBackend {
        let configuration = EtcdConfiguration(
            endpoints: ["127.0.0.1:\(member.port)"], prefix: "p", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        return try EtcdBackend(configuration, timing: timing)
    }

    private func changes(_ store: ObservableStore) -> [String: AsyncStream<Change<Int>>] {
        Dictionary(uniqueKeysWithValues: Self.names.map { ($0, store.changes(of: key($0))) })
    }

    /// The values that each key is changed to, up to a last one.
    private func values(of changes: [String: AsyncStream<Change<Int>>], upTo last: [String: Int]) async -> [String: [Int]] {
        var values: [String: [Int]] = [:]
        for (name, changes) in changes {
            for await change in changes {
                values[name, default: []].append(change.newValue)
                if change.newValue == last[name] { break }
            }
        }
        return values
    }

    @Test("After a compaction each entry that differs is reported once, also removals, and no equal entry")
    func compaction() async throws {
        let mayCompact = DispatchSemaphore(value: 0)
        let first = try [entry("a", 1, at: 3), entry("b", 2, at: 4), entry("c", 3, at: 5)]
        let last = try [("a", 100), ("b", 200), ("c", 300), ("d", 400)].map { try entry($0, $1, at: 11) }
        let member = try ScriptedMember(range: Self.range(first, at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayCompact.wait()
                connection.result(Self.compacted(9, at: 10))
            } else {
                connection.result(Self.puts(last, at: 11))
            }
            connection.receiveEnd()
        }
        let store = try await ObservableStore.open(backend(member))
        let changes = changes(store)
        member.setRange(Self.range(try [entry("a", 1, at: 3), entry("b", 20, at: 9), entry("d", 4, at: 10)], at: 10))
        mayCompact.signal()
        #expect(
            await values(of: changes, upTo: ["a": 100, "b": 200, "c": 300, "d": 400]) == [
                "a": [100], "b": [20, 200], "c": [0, 300], "d": [4, 400],
            ])
        #expect(member.startRevisions == [6, 11])
        try await store.close()
    }

    @Test("Events that a member has lost are found by the comparison, and reported once, although there is no newer revision")
    func lostEvents() async throws {
        let first = try [entry("a", 1, at: 3), entry("b", 2, at: 4), entry("c", 3, at: 5)]
        let lossy = try [entry("b", 20, at: 6)]
        let last = try [("a", 100), ("b", 200), ("c", 300), ("d", 400)].map { try entry($0, $1, at: 7) }
        let (mayLose, isRepaired) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let member = try ScriptedMember(range: Self.range(first, at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayLose.wait()
                connection.result(Self.puts(lossy, at: 6))
                // Answered until the client has compared, and begins anew.
                while connection.receiveHeartbeat() { connection.progress(6) }
            } else {
                isRepaired.wait()
                connection.result(Self.puts(last, at: 7))
            }
            connection.receiveEnd()
        }
        var timing = EtcdWatch.Timing.patient
        (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(10), .milliseconds(1), .milliseconds(1))
        let store = try await ObservableStore.open(backend(member, timing: timing))
        let changes = changes(store)
        member.setRange(Self.range(try [entry("b", 20, at: 6), entry("c", 30, at: 6), entry("d", 4, at: 6)], at: 6))
        mayLose.signal()
        #expect(await values(of: changes, upTo: ["a": 0, "b": 20, "c": 30, "d": 4]) == ["a": [0], "b": [20], "c": [30], "d": [4]])
        isRepaired.signal()
        let later = await values(of: changes, upTo: ["a": 100, "b": 200, "c": 300, "d": 400])
        #expect(later == ["a": [100], "b": [200], "c": [300], "d": [400]])
        try await store.close()
    }

    @Test("Differences are not reported to stores that may have read something in between: they read everything", arguments: [false, true])
    func readBetween(isRead: Bool) async throws {
        let mayCompact = DispatchSemaphore(value: 0)
        let member = try ScriptedMember(range: Self.range([entry("a", 1, at: 3)], at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                mayCompact.wait()
                connection.result(Self.compacted(11, at: 12))
            }
            connection.receiveEnd()
        }
        let backend = try backend(member)
        let first = try await backend.load()
        #expect(first["a"] == 1)
        let events = Recorder<StorageEvent>()
        let token = backend.watch(since: first.revision, on: DispatchQueue(label: "events")) { events.record($0) }
        member.setRange(Self.range(try [entry("a", 2, at: 9)], at: 9))
        if isRead { #expect(try await backend.load()["a"] == 2) }
        // The difference from what the watch knows does not name "a".
        member.setRange(Self.range(try [entry("a", 1, at: 11), entry("b", 1, at: 12)], at: 12))
        mayCompact.signal()
        switch try await events.elements(count: 1)[0] {
        case .changed: #expect(isRead)
        case .differences(let changes): #expect(!isRead && changes.values.keys.sorted() == ["b"])
        default: Issue.record("\(events.elements)")
        }
        token.cancel()
    }

    @Test("An edit that has taken effect without a response is not undone in memory before the watch has delivered it")
    func effectBeforeEvent() async throws {
        let mayTell = DispatchSemaphore(value: 0)
        let token = Lock<KeyValue?>(nil)
        let member = try ScriptedMember(range: Self.range([], at: 5)) { _, connection in
            connection.create()
            mayTell.wait()
            guard let written = try? entry("a", 1, at: 6), let token = token.withLock({ $0 }) else { return }
            connection.result(Self.puts([written, token], at: 6))
            connection.receiveEnd()
        }
        member.answerTransactions { request throws(EtcdFailure) in
            if request.puts.contains(where: { $0.key == EntryKeys(prefix: "p").start + "a".utf8 }) {
                // It is sent again as soon as nobody answers. A refusal ends that, and says nothing about the first time.
                guard token.withLock({ $0 == nil }) else { throw EtcdFailure(code: 7, message: "etcdserver: permission denied") }
                do {
                    let written = try Self.token(of: request, at: 6)
                    token.withLock { $0 = written }
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            // Whoever asks what has become of it sees its token.
            return TxnRequest.Response(header: Self.header(6), ranges: [[token.withLock { $0 }].compactMap(\.self)])
        }
        var timing = EtcdWatch.Timing.patient
        // The watch does not come to it before it may.
        timing.arrival = .milliseconds(20)
        let backend = try backend(member, timing: timing)
        let store = try await ObservableStore.open(backend)
        let changes = store.changes(of: key("a"))
        var failures = store.failures.makeAsyncIterator()
        store[key("a")] = 1
        if case .outcomeUnknown? = await failures.next() {} else { Issue.record("the outcome is known") }
        let second = await failures.next()
        #expect(second.map { "\($0)" }?.contains("an earlier edit is stored") == true, "\(second as Any)")
        #expect(store[key("a")] == 1 && store.unwrittenKeys == ["a"])
        mayTell.signal()
        await backend.follower.wait(until: .distant) { $0.view.revision >= 6 }
        try await store.flush()
        #expect(store[key("a")] == 1 && store.unwrittenKeys.isEmpty)
        try await store.close()
        #expect(await changes.reduce(into: []) { $0.append($1.newValue) } == [1])
    }

    /// The response to a transaction at revision 6 whose message is too large in one direction, after keeping the token that it writes.
    private static func tooLarge(_ request: TxnRequest, keeping token: borrowing Lock<KeyValue?>) -> EtcdFailure {
        do {
            let written = try self.token(of: request, at: 6)
            token.withLock { $0 = written }
        } catch {
            Issue.record(error)
        }
        return EtcdFailure(code: 8, message: "grpc: received message larger than max (5 vs. 4)")
    }

    @Test("If a message is too large, an edit is reverted only if it is not stored", arguments: [true, false])
    func largeMessage(isStored: Bool) async throws {
        let isRequested = DispatchSemaphore(value: 0)
        let token = Lock<KeyValue?>(nil)
        let member = try ScriptedMember(range: Self.range([], at: 5)) { _, connection in
            connection.create()
            isRequested.wait()
            guard let written = try? entry("a", 1, at: 6), let token = token.withLock({ $0 }) else { return }
            if isStored { connection.result(Self.puts([written, token], at: 6)) }
            connection.receiveEnd()
        }
        member.answerTransactions { request throws(EtcdFailure) in
            if request.puts.contains(where: { $0.key == EntryKeys(prefix: "p").start + "a".utf8 }) {
                throw Self.tooLarge(request, keeping: token)
            }
            // Whoever asks what has become of it.
            isRequested.signal()
            if !isStored { return TxnRequest.Response(header: Self.header(6), succeeded: true) }
            return TxnRequest.Response(header: Self.header(6), ranges: [[token.withLock { $0 }].compactMap(\.self)])
        }
        let store = try await ObservableStore.open(backend(member))
        let error = await store.isolated { store in
            store[key("a")] = 1
            return await store.flushFailure()
        }
        if isStored { #expect(error == nil) } else if case .tooLarge("a", _) = error {} else { Issue.record("\(error as Any)") }
        #expect(store[key("a")] == (isStored ? 1 : 0) && store.unwrittenKeys.isEmpty)
        try await store.close()
    }

    @Test("An edit that is stored although its response was too large is not sent again, also if its event does not come")
    func largeMessageWithoutEvent() async throws {
        let isRequested = DispatchSemaphore(value: 0)
        let token = Lock<KeyValue?>(nil)
        let compared = Recorder<Int64>()
        let member = try ScriptedMember(range: Self.range([], at: 5)) { _, connection in
            connection.create()
            // At once, and for the next commit.
            for _ in 0..<2 { isRequested.wait() }
            guard let written = try? entry("a", 1, at: 6), let token = token.withLock({ $0 }) else { return }
            connection.result(Self.puts([written, token], at: 6))
            connection.receiveEnd()
        }
        member.answerTransactions { request throws(EtcdFailure) in
            if request.puts.contains(where: { $0.key == EntryKeys(prefix: "p").start + "a".utf8 }) {
                compared.record(-1)
                throw Self.tooLarge(request, keeping: token)
            }
            compared.record(request.compares[0].modRevision)
            isRequested.signal()
            return TxnRequest.Response(header: Self.header(6), ranges: [[token.withLock { $0 }].compactMap(\.self)])
        }
        var timing = EtcdWatch.Timing.patient
        timing.arrival = .zero
        let store = try await ObservableStore.open(backend(member, timing: timing))
        let error = await store.isolated { store in
            store[key("a")] = 1
            return await store.flushFailure()
        }
        if case .outcomeUnknown = error {} else { Issue.record("\(error as Any)") }
        while await store.flushFailure() != nil {}
        // Sent once; then compared with the token before it, which would have prevented it.
        #expect(compared.elements == [-1, 0, 0])
        try await store.close()
    }

    @Test("A cluster that has refused a number of comparisons is not asked for as many again")
    func fewerComparisons() async throws {
        let compared = Recorder<Int>()
        let member = try ScriptedMember(range: Self.range([], at: 5)) { _, connection in
            connection.create()
            connection.receiveEnd()
        }
        member.answerTransactions { request throws(EtcdFailure) in
            compared.record(request.compares.count)
            throw EtcdFailure(code: 3, message: "etcdserver: too many operations in txn request")
        }
        let backend = try backend(member)
        for count in [20, 20, 10] {
            _ = try await backend.edit { $0.readKeys = Set((0..<count).map { "\($0)" }) }
        }
        #expect(compared.elements == [20, 10])
    }

    // MARK: - Transactions whose event does not come

    /// What a member sends after a transaction has written 2 to "a" and "b" at revision 6.
    enum Silence: CaseIterable, Sendable {
        /// Others have written 9 at 7, and its revision is compacted.
        case compacted
        /// The same, but nobody has written since.
        case compactedLast
        /// It sends revision 7, which is of "c"; others have written 9 at 8.
        case lost
        /// It sends revision 7, in which others have written 9.
        case lostOverwritten
        /// It sends revision 7, in which others have deleted both.
        case lostDeleted
        /// It sends revision 7, which is of "c"; others have written 1 again at 8, which is the newest.
        case lostBack
        /// It sends revision 7, which is of "c", and nobody has written since.
        case lostLast
        /// The revision of the transaction is 4: the cluster was restored before.
        case restored

        fileprivate var isCompaction: Bool { self == .compacted || self == .compactedLast }
        fileprivate var revision: Int64 { self == .restored ? 4 : 6 }
        fileprivate var lastRevision: Int64 { self == .restored ? 4 : 7 }

        /// The events after revision 6.
        fileprivate func events() throws -> [WatchEvent] {
            switch self {
            case .compacted, .compactedLast, .restored: []
            case .lost, .lostLast, .lostBack: try [WatchEvent(keyValue: entry("c", 1, at: 7))]
            case .lostOverwritten: try ["a", "b"].map { WatchEvent(keyValue: try entry($0, 9, at: 7)) }
            case .lostDeleted: try ["a", "b"].map { WatchEvent(isDelete: true, keyValue: try entry($0, 0, at: 7)) }
            }
        }

        /// What is stored when everything is read.
        fileprivate func range(token: KeyValue) throws -> RangeRequest.Response {
            switch self {
            case .compacted: try EtcdStoreFaultTests.range([token, entry("a", 9, at: 7), entry("b", 9, at: 7)], at: 8)
            case .compactedLast: try EtcdStoreFaultTests.range([token, entry("a", 2, at: 6), entry("b", 2, at: 6)], at: 6)
            case .lost: try EtcdStoreFaultTests.range([token, entry("a", 9, at: 8), entry("b", 9, at: 8), entry("c", 1, at: 7)], at: 9)
            case .lostOverwritten: try EtcdStoreFaultTests.range([token, entry("a", 9, at: 7), entry("b", 9, at: 7)], at: 9)
            case .lostDeleted: try EtcdStoreFaultTests.range([token, entry("c", 1, at: 9)], at: 9)
            case .lostBack: try EtcdStoreFaultTests.range([token, entry("a", 1, at: 8), entry("b", 1, at: 8), entry("c", 1, at: 7)], at: 8)
            case .restored: try EtcdStoreFaultTests.range([token, entry("a", 2, at: 4), entry("b", 2, at: 4)], at: 4)
            case .lostLast: try EtcdStoreFaultTests.range([token, entry("a", 2, at: 6), entry("b", 2, at: 6), entry("c", 1, at: 7)], at: 7)
            }
        }

        /// The reported values of both entries.
        fileprivate var values: [Int] {
            switch self {
            case .compacted, .lost: [2, 9]
            case .compactedLast, .lostLast, .restored: [2]
            case .lostBack: [2, 1]
            case .lostDeleted: [0]
            // The older values, reported now, would seem to be stored again.
            case .lostOverwritten: [9]
            }
        }
    }

    @Test("A transaction is reported as a step of its own, also if its event does not arrive", arguments: Silence.allCases)
    func silence(_ silence: Silence) async throws {
        let isStored = DispatchSemaphore(value: 0)
        let first = try [entry("a", 1, at: 5), entry("b", 1, at: 5)]
        let member = try ScriptedMember(range: Self.range(first, at: 5)) { number, connection in
            connection.create()
            if number == 0 {
                isStored.wait()
                if !silence.isCompaction {
                    guard let events = try? silence.events() else { return }
                    if !events.isEmpty { connection.result(Self.events(events, at: 7)) }
                    while connection.receiveHeartbeat() { connection.progress(silence.lastRevision) }
                } else {
                    connection.result(Self.compacted(6, at: 8))
                }
            }
            connection.receiveEnd()
        }
        member.answerTransactions { [weak member] request in
            do {
                member?.setRange(try silence.range(token: Self.token(of: request, at: silence.revision)))
            } catch {
                Issue.record(error)
            }
            isStored.signal()
            return TxnRequest.Response(header: Self.header(silence.revision), succeeded: true)
        }
        var timing = EtcdWatch.Timing.patient
        if !silence.isCompaction {
            (timing.heartbeat, timing.comparison, timing.suspicion) = (.milliseconds(10), .milliseconds(50), .milliseconds(1))
        }
        let store = try await ObservableStore.open(backend(member, timing: timing))
        let changes = changes(store)
        let failures = store.failures
        try await store.update { transaction in
            for name in ["a", "b"] { transaction[key(name)] = 2 }
        }
        var reported: [String: [Change<Int>]] = [:]
        var rest = try ["a", "b"].map { name in (name, try #require(changes[name]).makeAsyncIterator()) }
        for index in rest.indices {
            while let change = await rest[index].1.next() {
                reported[rest[index].0, default: []].append(change)
                if change.newValue == silence.values.last { break }
            }
        }
        if !silence.isCompaction {
            let failure = await failures.first { _ in true }
            if case .historyLost = failure {} else { Issue.record("\(failure as Any)") }
        }
        // Nothing comes after the last value.
        try await store.close()
        for index in rest.indices {
            while let change = await rest[index].1.next() { reported[rest[index].0, default: []].append(change) }
        }
        for name in ["a", "b"] {
            #expect(reported[name]?.map(\.newValue) == silence.values)
            #expect(reported[name]?.map(\.origin) == silence.values.map { $0 == 2 ? .local : .external })
        }
        #expect(reported["a"]?.map(\.revision) == reported["b"]?.map(\.revision))
    }

    /// The key with which a transaction marks itself, as it is stored at a revision.
    private static func token(of request: TxnRequest, at revision: Int64) throws -> KeyValue {
        let put = try #require(request.puts.last)
        return KeyValue(key: put.key, value: put.value, createRevision: 1, modRevision: revision)
    }
}

extension TxnRequest {
    /// What is written if all comparisons hold.
    fileprivate var puts: [PutRequest] {
        success.compactMap { operation in
            guard case .put(let key, let value, let lease) = operation else { return nil }
            return PutRequest(key: key, value: value, lease: lease)
        }
    }
}

/// The key of an entry as etcd stores it.
private func entry(_ name: String, _ value: Int, at revision: Int64) throws -> KeyValue {
    let bytes = try PropertyListValue.integer(PropertyListInteger(Int64(value))).etcdBytes(for: name)
    return KeyValue(key: EntryKeys(prefix: "p").start + name.utf8, value: bytes, createRevision: 1, modRevision: revision)
}
