import FoundationSubset
import ObservableStorage

/// The transactions of edits, one after another: each is sent until it has taken effect, exactly once, or until what it has read has
/// changed.
///
/// Each writes the same reserved key, the token: when one is sent again because no response arrived, the token shows whether it has taken
/// effect already. A lease deletes the token some time after the last transaction.
struct EtcdTransaction: Sendable {
    /// How long a token outlives its last transaction, in seconds.
    private static let timeToLive = 600 as Int64

    /// The identity under which the store repeats the edits; nil if it does not.
    var identity: UInt64?
    /// The last attempt, as the value of the token, if the store repeats its edits and its outcome is unknown.
    private(set) var unknown: String?
    /// Where that was found to have taken effect, until the watch has reached it.
    var effect: (revision: Int64, history: String)?
    var client: EtcdClient
    var lease: (id: Int64, renewal: ContinuousClock.Instant)?
    private let token: String
    private let tokenKey: [UInt8]
    private var number: UInt64 = 0
    // The revision in which the token was last written; 0 if it is not stored. Before the attempt, if its outcome is unknown.
    private var revision: Int64 = 0
    // Lower after the cluster has refused as many.
    var maximumCompares = EntryRevisions.maximumCompares
    let follower: EtcdFollower

    init(_ follower: EtcdFollower) {
        (client, self.follower) = (follower.client, follower)
        token = UUID().uuidString
        tokenKey = follower.keys.token(token)
    }

    /// Stores edited entries, and returns all entries at the resulting revision; nil if something that was read has changed.
    nonisolated(nonsending) mutating func commit(
        _ entries: StorageEntries, over earlier: StorageEntries
    ) async throws -> StorageEntries? {
        try Task.checkCancellation()
        // On the client's queue, and not cancelled: the outcome of a transaction that was sent has to be reported.
        let (sent, result) = await Task(executorPreference: client.executor) { [self] in
            var sent = self
            do {
                let stored = try await sent.send(entries, over: earlier)
                return (sent, Result<StorageEntries?, any Error>.success(stored))
            } catch {
                return (sent, .failure(error))
            }
        }.value
        self = sent
        return try result.get()
    }

    private nonisolated(nonsending) mutating func send(
        _ entries: StorageEntries, over earlier: StorageEntries
    ) async throws -> StorageEntries? {
        let attempt = nextAttempt()
        follower.expect(attempt, storing: entries, over: earlier)
        // A later event still resolves an unknown outcome.
        defer { if unknown == nil { follower.forget(attempt) } }
        var isLeaseLost = false
        while true {
            // Before what the request compares is read.
            try await renewLease()
            guard let request = try request(entries, over: earlier, attempt) else { return nil }
            let response: TxnRequest.Response
            do {
                response = try await call(request, writing: tokenKey, attempt)
            } catch let failure as EtcdFailure where failure.isLeaseNotFound && !isLeaseLost {
                (isLeaseLost, lease) = (true, nil)
                continue
            } catch let failure as EtcdFailure where failure.isTooLarge {
                // Too many bytes are those of values: fewer comparisons would only make later transactions less exact.
                guard failure.isForOperations, request.compares.count > request.success.count + 1, maximumCompares > 0 else {
                    throw refusal(of: entries, failure)
                }
                // Fewer, until the cluster takes them: at last one of all entries.
                maximumCompares = min(maximumCompares, request.compares.count) / 2
                continue
            } catch let unavailable as EtcdUnavailable where unavailable.mayHaveArrived {
                // The watch may have delivered it.
                if let stored = await follower.outcome(of: attempt, until: .now) { return stored }
                let unknownOutcome = outcomeUnknown(of: attempt, "\(unavailable.error)")
                guard let failure = EtcdFailure(tooLarge: unavailable) else { throw unknownOutcome }
                // The request, or the response to one that has taken effect.
                let (before, storedRevision): (Int64, Int64?)
                do { (before, storedRevision) = (revision, try await prevent(attempt)) } catch { throw unknownOutcome }
                guard revision != 0 else { throw unknownOutcome }
                unknown = nil
                guard let storedRevision else { throw refusal(of: entries, failure) }
                revision = before
                return try await stored(attempt, at: storedRevision)
            }
            if response.succeeded { return try await stored(attempt, at: response.header.revision) }
            let written = try Self.keyValue(in: response)
            let found = written?.modRevision ?? 0
            // An earlier attempt of the same request has taken effect.
            if let written, written.value == Array(attempt.utf8) { return try await stored(attempt, at: found) }
            guard found != revision else { return nil }
            // The token has expired, or its previous transaction took effect after its deadline.
            (revision, lease) = (found, nil)
        }
    }

    /// Grants a new lease well before the old one expires.
    private nonisolated(nonsending) mutating func renewLease() async throws {
        if let lease, .now < lease.renewal { return }
        let granted = try await client.grantLease(timeToLive: Self.timeToLive)
        lease = (granted.lease, .now + .seconds(Self.timeToLive / 2))
    }

    /// Sends a request that also writes a reserved key with the lease.
    ///
    /// - Throws: also if the cluster does not have the lease, because someone has revoked it, or it is another cluster.
    private nonisolated(nonsending) mutating func call(
        _ request: TxnRequest, writing key: [UInt8], _ value: String
    ) async throws -> TxnRequest.Response {
        try await renewLease()
        var request = request
        request.success.append(.put(key: key, value: Array(value.utf8), lease: lease?.id ?? 0))
        return try await client.call(request, deadline: .now + client.callTimeout)
    }

    /// Writes a key of its own, and returns the revision and the identity of the history there: all earlier writes have lower revisions.
    ///
    /// Not the token: a mark that arrives late would hide that a transaction without a response has taken effect.
    nonisolated(nonsending) mutating func mark() async throws -> (revision: Int64, identity: EtcdHistoryIdentity) {
        let request = TxnRequest(success: [.range(RangeRequest(key: follower.keys.history))])
        let response: TxnRequest.Response
        do {
            response = try await call(request, writing: follower.keys.mark(token), nextAttempt())
        } catch let failure as EtcdFailure where failure.isLeaseNotFound {
            lease = nil
            response = try await call(request, writing: follower.keys.mark(token), nextAttempt())
        }
        var identity = EtcdHistoryIdentity(clusterID: response.header.clusterID)
        identity.update(from: try Self.keyValue(in: response))
        return (response.header.revision, identity)
    }

    /// The key that the first operation of a transaction has read; nil if it is not stored.
    private static func keyValue(in response: TxnRequest.Response) throws(EtcdFailure) -> KeyValue? {
        guard let range = response.ranges.first.flatMap(\.self) else { throw EtcdFailure(code: nil, message: "a result is missing") }
        return range.first
    }

    /// Waits until the watch has delivered a transaction that has taken effect.
    private nonisolated(nonsending) mutating func stored(_ attempt: String, at revision: Int64) async throws -> StorageEntries {
        guard let stored = await follower.outcome(of: attempt, until: .now + follower.timing.arrival) else {
            throw outcomeUnknown(of: attempt, "the edit has taken effect, but no member can be watched")
        }
        self.revision = revision
        return stored
    }

    /// The error for an attempt, after keeping it for ``resolve()``.
    private mutating func outcomeUnknown(of attempt: String, _ reason: String) -> StorageError {
        if identity != nil { unknown = attempt }
        return .outcomeUnknown(storage: follower.name, reason: reason)
    }

    /// The error for a request that is too large.
    private func refusal(of entries: StorageEntries, _ failure: EtcdFailure) -> StorageError {
        if failure.isForOperations, entries.editedKeys.count == 1 {
            let reason = "\(failure): the cluster allows fewer operations in a transaction than an edit needs; raise its --max-txn-ops"
            return .unwritable(file: follower.name, reason: reason)
        }
        return .tooLarge(key: nil, reason: "\(follower.name) does not take it: \(failure)")
    }

    /// Whether there is nothing to find out about an attempt.
    var isResolved: Bool { unknown == nil && effect == nil }

    /// Finds out whether the attempt with an unknown outcome has taken effect, and prevents it from doing so later.
    ///
    /// Its ``effect`` is nil if it has not, and also if that cannot be found out, because the token has expired and its event was compacted;
    /// its revision is 0 if the watch has delivered it.
    nonisolated(nonsending) mutating func resolve() async throws {
        guard let lost = unknown else { return }
        if await follower.outcome(of: lost, until: .now) != nil {
            return settle(lost, storedAt: 0)
        }
        settle(lost, storedAt: try await prevent(lost))
    }

    /// Prevents an attempt from taking effect later, and returns the revision in which it has done so; nil if it has not, and also if that
    /// is not known, because the token is not stored any more.
    private nonisolated(nonsending) mutating func prevent(_ attempt: String) async throws -> Int64? {
        // It may have expired, or belong to another cluster.
        lease = nil
        let request = TxnRequest(compares: [tokenCompare], failure: [.range(RangeRequest(key: tokenKey))])
        let response = try await call(request, writing: tokenKey, nextAttempt())
        let written = response.succeeded ? nil : try Self.keyValue(in: response)
        revision = response.succeeded ? response.header.revision : written?.modRevision ?? 0
        return written?.value == Array(attempt.utf8) ? revision : nil
    }

    private mutating func settle(_ attempt: String, storedAt revision: Int64?) {
        follower.forget(attempt)
        unknown = nil
        if let revision, let history = follower.latest?.history { effect = (revision, history) }
    }

    /// The value of the token in the next transaction.
    private mutating func nextAttempt() -> String {
        number += 1
        return "\(token) \(number)"
    }

    private var tokenCompare: TxnRequest.Compare { TxnRequest.Compare(key: tokenKey, modRevision: revision) }

    private func request(_ entries: StorageEntries, over earlier: StorageEntries, _ attempt: String) throws -> TxnRequest? {
        let names = entries.editedKeys.sorted()
        let prepared = follower.read { [maximumCompares] replica in
            replica.compares(of: entries.readKeys, read: earlier, upTo: maximumCompares).map {
                ($0, names.map { replica.revisions.key(of: $0) }, replica.historyWrite)
            }
        }
        guard let (compares, editedKeys, history) = prepared else { return nil }
        var request = TxnRequest(compares: [tokenCompare] + compares)
        var deletes = false
        for (name, key) in zip(names, editedKeys) {
            guard let key else { throw EntryKeys.unusable(name) }
            if let value = entries[name] {
                request.success.append(.put(key: key, value: try value.etcdBytes(for: name)))
            } else {
                deletes = true
                request.success.append(.delete(key: key))
            }
        }
        request.add(history)
        if deletes { request.success.append(.put(key: follower.keys.fence, value: Array(attempt.utf8))) }
        request.failure = [.range(RangeRequest(key: tokenKey))]
        return request
    }
}

extension EntryKeys {
    /// The error for a name that cannot be a key.
    static func unusable(_ name: String) -> StorageError {
        .unencodable(key: name, reason: "a name in etcd may not be empty, nor have a NUL at its beginning or after a slash")
    }
}
