import FoundationSubset
import ObservableStorage

/// A reserved key that is written with each transaction: when one is sent again because no response arrived, the key shows whether it has
/// taken effect already. The lease deletes the key some time after the last transaction.
struct EtcdToken: Sendable {
    /// How long a token outlives its last transaction, in seconds.
    static let timeToLive = 600 as Int64

    let name = UUID().uuidString
    /// The revision in which it was last written; 0 if it is not stored.
    var revision: Int64 = 0
    var number: UInt64 = 0
    var lease: (id: Int64, renewal: ContinuousClock.Instant)?
}

/// The transaction of an edit, which is sent until it has taken effect, exactly once, or until what it has read has changed.
struct EtcdTransaction: Sendable {
    /// An attempt whose outcome is unknown.
    struct Unknown: Sendable {
        /// The identity under which the store repeats the edits.
        let identity: UInt64
        /// The value of the token.
        let attempt: String
        /// The revision of the token before the attempt.
        let revision: Int64
    }

    private(set) var token: EtcdToken
    /// The identity under which the store repeats the edits; nil if it does not.
    var identity: UInt64?
    /// The last attempt, if the store repeats its edits and its outcome is unknown.
    private(set) var unknown: Unknown?
    var client: EtcdClient
    private let follower: EtcdFollower
    private let keys: EntryKeys
    private let name: String
    private let timeout: Duration
    private var conflicts = 0

    /// - Parameters:
    ///   - name: the name of the storage in errors.
    ///   - timeout: how long the members may take.
    init(_ token: EtcdToken, _ client: EtcdClient, _ follower: EtcdFollower, _ keys: EntryKeys, named name: String, timeout: Duration) {
        (self.token, self.client, self.follower, self.keys, self.name, self.timeout) = (token, client, follower, keys, name, timeout)
    }

    /// Stores edited entries, and returns all entries at the resulting revision; nil if something that was read has changed.
    nonisolated(nonsending) mutating func commit(
        _ entries: StorageEntries, over earlier: StorageEntries
    ) async throws -> StorageEntries? {
        try Task.checkCancellation()
        // Not cancelled: the outcome of a transaction that was sent has to be reported.
        let (sent, result) = await client.shielded { [self] in
            var sent = self
            do {
                let stored = try await sent.send(entries, over: earlier)
                return (sent, Result<StorageEntries?, any Error>.success(stored))
            } catch {
                return (sent, .failure(error))
            }
        }
        self = sent
        return try result.get()
    }

    private nonisolated(nonsending) mutating func send(
        _ entries: StorageEntries, over earlier: StorageEntries
    ) async throws -> StorageEntries? {
        try await renewLease()
        token.number += 1
        let attempt = "\(token.name) \(token.number)"
        var isLeaseLost = false
        follower.expect(attempt, storing: entries, over: earlier)
        // A later event still resolves an unknown outcome.
        defer { if unknown == nil { follower.forget(attempt) } }
        while true {
            guard let request = try request(entries, over: earlier, attempt) else { return nil }
            let deadline = ContinuousClock.now + timeout
            let response: TxnRequest.Response
            let lost = identity.map { Unknown(identity: $0, attempt: attempt, revision: token.revision) }
            do {
                response = try await client.call(request, deadline: deadline)
            } catch let unavailable as EtcdUnavailable where unavailable.mayHaveArrived {
                // The watch may have delivered it.
                if let stored = await follower.outcome(of: attempt, until: .now) { return stored }
                unknown = lost
                throw StorageError.outcomeUnknown(storage: name, reason: "\(unavailable.error)")
            } catch let failure as EtcdFailure where failure.isLeaseNotFound && !isLeaseLost {
                // Someone has revoked it, or the cluster is another one.
                (isLeaseLost, token.lease) = (true, nil)
                try await renewLease()
                continue
            }
            if response.succeeded {
                token.revision = response.header.revision
                return try await stored(attempt, lost)
            }
            let range = try Self.range(in: response)
            let expected = token.revision
            token.revision = range.keyValues.first?.modRevision ?? 0
            if let value = range.keyValues.first?.value, value == Array(attempt.utf8) {
                // An earlier attempt of the same request has taken effect.
                return try await stored(attempt, lost)
            }
            guard token.revision != expected else { return nil }
            // The token has expired, or its previous transaction took effect after its deadline.
            token.lease = nil
            try await renewLease()
        }
    }

    /// Writes the token alone, and returns the revision and the identity of the history there: all earlier writes have lower revisions.
    nonisolated(nonsending) mutating func mark() async throws -> (revision: Int64, identity: EtcdHistoryIdentity) {
        try await renewLease()
        let mark = TxnRequest.Operation.put(key: keys.token(token.name), value: [], lease: token.lease?.id ?? 0)
        let request = TxnRequest(success: [.range(RangeRequest(key: keys.history)), mark])
        let response = try await client.call(request, deadline: .now + timeout)
        token.revision = response.header.revision
        var identity = EtcdHistoryIdentity(clusterID: response.header.clusterID)
        identity.update(from: try Self.range(in: response).keyValues.first)
        return (token.revision, identity)
    }

    /// The first result of a transaction, which reads a key.
    private static func range(in response: TxnRequest.Response) throws(EtcdFailure) -> RangeRequest.Response {
        guard let range = response.ranges.first.flatMap(\.self) else { throw EtcdFailure(code: nil, message: "a result is missing") }
        return range
    }

    /// Waits until the watch has delivered a transaction that has taken effect.
    private nonisolated(nonsending) mutating func stored(_ attempt: String, _ lost: Unknown?) async throws -> StorageEntries {
        if let stored = await follower.outcome(of: attempt, until: .now + follower.timing.arrival) { return stored }
        unknown = lost
        let reason = "the edit has taken effect, but no member can be watched"
        throw StorageError.outcomeUnknown(storage: name, reason: reason)
    }

    /// Finds out whether the attempt with an unknown outcome has taken effect, and prevents it from doing so later.
    ///
    /// - Returns: the revision in which it has, or 0 if the watch has delivered it; nil if it has not, and also if that cannot be found
    ///   out, because the token has expired and its event was compacted.
    nonisolated(nonsending) mutating func resolve() async throws -> Int64? {
        guard let lost = unknown else { return nil }
        if await follower.outcome(of: lost.attempt, until: .now) != nil {
            follower.forget(lost.attempt)
            unknown = nil
            return 0
        }
        // It may have expired, or belong to another cluster.
        token.lease = nil
        try await renewLease()
        token.number += 1
        let tokenKey = keys.token(token.name)
        let void = Array("\(token.name) \(token.number)".utf8)
        var request = TxnRequest()
        request.compares = [TxnRequest.Compare(key: tokenKey, modRevision: lost.revision)]
        request.success = [.put(key: tokenKey, value: void, lease: token.lease?.id ?? 0)]
        request.failure = [.range(RangeRequest(key: tokenKey))]
        let response = try await client.call(request, deadline: .now + timeout)
        follower.forget(lost.attempt)
        unknown = nil
        if response.succeeded {
            token.revision = response.header.revision
            return nil
        }
        let written = try Self.range(in: response).keyValues.first
        token.revision = written?.modRevision ?? 0
        return written?.value == Array(lost.attempt.utf8) ? token.revision : nil
    }

    private func request(_ entries: StorageEntries, over earlier: StorageEntries, _ attempt: String) throws -> TxnRequest? {
        let names = entries.editedKeys.sorted()
        let prepared = follower.read { replica in
            replica.compares(of: entries.readKeys, read: earlier).map {
                ($0, names.map { replica.revisions.key(of: $0) }, replica.historyWrite)
            }
        }
        guard let (compares, editedKeys, history) = prepared else { return nil }
        let tokenKey = keys.token(token.name)
        var request = TxnRequest()
        request.compares = [TxnRequest.Compare(key: tokenKey, modRevision: token.revision)] + compares
        var deletes = false
        for (name, key) in zip(names, editedKeys) {
            guard let key else { throw EntryKeys.unusable(name) }
            if let value = entries[name] {
                request.success.append(.put(key: key, value: try EntryValue.encode(value, for: name)))
            } else {
                deletes = true
                request.success.append(.delete(key: key))
            }
        }
        if let history {
            request.compares.append(history.compare)
            request.success.append(history.put)
        }
        if deletes { request.success.append(.put(key: keys.fence, value: Array(attempt.utf8))) }
        request.success.append(.put(key: tokenKey, value: Array(attempt.utf8), lease: token.lease?.id ?? 0))
        request.failure = [.range(RangeRequest(key: tokenKey))]
        return request
    }

    /// Grants a new lease well before the old one expires.
    private nonisolated(nonsending) mutating func renewLease() async throws {
        if let lease = token.lease, .now < lease.renewal { return }
        let request = LeaseRequest.grant(timeToLive: EtcdToken.timeToLive)
        let granted = try await client.call(request, deadline: .now + timeout)
        token.lease = (granted.lease, .now + .seconds(EtcdToken.timeToLive / 2))
    }

    /// Waits for a random time after repeated conflicts, so that several writers do not block each other forever.
    nonisolated(nonsending) mutating func pauseAfterConflict() async throws {
        conflicts += 1
        guard conflicts > 1 else { return }
        let backoff = RetryBackoff(firstDelay: .milliseconds(4), longestDelay: .milliseconds(64), jitter: 0...1)
        try await Task.sleep(for: backoff.delay(after: conflicts - 1))
    }
}

extension EntryKeys {
    func token(_ name: String) -> [UInt8] { reservedKey("token/" + name) }

    /// The attempt of a transaction that has written a token; nil for any other key.
    func attempt(_ keyValue: KeyValue) -> String? {
        guard case .reserved(let name) = meaning(of: keyValue.key), name.hasPrefix("token/") else { return nil }
        return String(decoding: keyValue.value, as: UTF8.self)
    }

    /// The error for a name that cannot be a key.
    static func unusable(_ name: String) -> StorageError {
        .unencodable(key: name, reason: "a name in etcd may not be empty, nor begin with a NUL")
    }
}
