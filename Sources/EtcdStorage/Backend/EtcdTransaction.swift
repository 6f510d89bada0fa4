import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// A reserved key that is written with each transaction: whoever sends one again, because the answer did not come, sees in it whether the
/// first one has taken effect. It ends by its lease when nobody writes it any more.
struct EtcdToken: Sendable {
    /// How long a token outlives its last transaction, in seconds.
    static let timeToLive = 600 as Int64

    let name = UUID().uuidString
    /// The revision in which it was written last; 0 if it is not stored.
    var revision: Int64 = 0
    var number: UInt64 = 0
    var lease: (id: Int64, renewal: ContinuousClock.Instant)?
}

/// An edit on its way to etcd, which is sent until it has taken effect, once, or what it has read has changed.
struct EtcdTransaction: Sendable {
    /// An attempt of which nobody has told whether it has taken effect.
    struct Unknown: Sendable {
        /// What the store calls its edits.
        let identity: UInt64
        /// The value of the token.
        let attempt: String
        /// The revision of the token before.
        let revision: Int64
    }

    private(set) var token: EtcdToken
    /// The last attempt, if its edits are repeated, and if its outcome is not known.
    private(set) var unknown: Unknown?
    private let keys: EntryKeys
    private let name: String
    private var conflicts = 0

    /// - Parameter name: the name of the storage in errors.
    init(_ token: EtcdToken, _ keys: EntryKeys, named name: String) {
        (self.token, self.keys, self.name) = (token, keys, name)
    }

    /// Stores edited entries, and returns all entries at the revision afterwards; nil if something that was read has changed.
    ///
    /// - Parameters:
    ///   - entries: the edited entries.
    ///   - earlier: the entries that were edited.
    ///   - timeout: how long the members may take.
    nonisolated(nonsending) mutating func commit(
        _ entries: StorageEntries, over earlier: StorageEntries, _ client: EtcdClient, _ follower: EtcdFollower, _ timeout: Duration
    ) async throws -> StorageEntries? {
        try Task.checkCancellation()
        // Not cancelled: what becomes of a transaction that was sent has to be told.
        let (sent, result) = await client.shielded { [self] in
            var sent = self
            do {
                let stored = try await sent.send(entries, over: earlier, client, follower, timeout)
                return (sent, Result<StorageEntries?, any Error>.success(stored))
            } catch {
                return (sent, .failure(error))
            }
        }
        self = sent
        return try result.get()
    }

    private nonisolated(nonsending) mutating func send(
        _ entries: StorageEntries, over earlier: StorageEntries, _ client: EtcdClient, _ follower: EtcdFollower, _ timeout: Duration
    ) async throws -> StorageEntries? {
        try await renewLease(client, timeout)
        token.number += 1
        let attempt = "\(token.name) \(token.number)"
        var isLeaseLost = false
        follower.expect(attempt, storing: entries, over: earlier)
        // An event that comes later still tells.
        defer { if unknown == nil { follower.forget(attempt) } }
        while true {
            guard let request = try request(entries, over: earlier, follower, attempt) else { return nil }
            let deadline = ContinuousClock.now + timeout
            let response: TxnRequest.Response
            let lost = entries.repetition.identity.map { Unknown(identity: $0, attempt: attempt, revision: token.revision) }
            do {
                response = try await client.call(request, isRepeatable: true, deadline: deadline)
            } catch EtcdClientError.unavailable(let error, mayHaveArrived: true) {
                // The watch may have seen it.
                if let stored = await follower.outcome(of: attempt, until: .now) { return stored }
                unknown = lost
                throw StorageError.outcomeUnknown(storage: name, reason: "\(error)")
            } catch let failure as EtcdFailure where failure.isLeaseNotFound && !isLeaseLost {
                // Somebody has revoked it, or the cluster is another one.
                (isLeaseLost, token.lease) = (true, nil)
                try await renewLease(client, timeout)
                continue
            }
            if response.succeeded {
                token.revision = response.header.revision
                return try await stored(attempt, lost, follower)
            }
            guard case .range(let range)? = response.results.first else { throw EtcdFailure(code: nil, message: "an answer is missing") }
            let expected = token.revision
            token.revision = range.keyValues.first?.modRevision ?? 0
            if let value = range.keyValues.first?.value, value == Array(attempt.utf8) {
                // An earlier one of the same requests has taken effect.
                return try await stored(attempt, lost, follower)
            }
            guard token.revision != expected else { return nil }
            // The token has expired, or its last transaction took effect after it was given up.
            token.lease = nil
            try await renewLease(client, timeout)
        }
    }

    /// Writes the token alone, and returns the revision, with what identifies the history there: everything that was stored before comes
    /// before it.
    nonisolated(nonsending) mutating func mark(
        _ client: EtcdClient, _ timeout: Duration
    ) async throws -> (revision: Int64, identity: EtcdHistoryIdentity) {
        try await renewLease(client, timeout)
        let mark = PutRequest(key: keys.token(token.name), value: [], lease: token.lease?.id ?? 0)
        let request = TxnRequest(success: [.range(RangeRequest(key: keys.history)), .put(mark)])
        let response = try await client.call(request, isRepeatable: true, deadline: .now + timeout)
        token.revision = response.header.revision
        guard case .range(let range)? = response.results.first else { throw EtcdFailure(code: nil, message: "an answer is missing") }
        var identity = EtcdHistoryIdentity(clusterID: response.header.clusterID)
        identity.update(from: range.keyValues.first)
        return (token.revision, identity)
    }

    /// Waits until the watch has come to a transaction that has taken effect.
    private nonisolated(nonsending) mutating func stored(
        _ attempt: String, _ lost: Unknown?, _ follower: EtcdFollower
    ) async throws -> StorageEntries {
        if let stored = await follower.outcome(of: attempt, until: .now + follower.timing.arrival) { return stored }
        unknown = lost
        let reason = "the edit has taken effect, but no member can be watched"
        throw StorageError.outcomeUnknown(storage: name, reason: reason)
    }

    /// Finds out whether the attempt with an unknown outcome has taken effect, and prevents it from doing so later.
    ///
    /// - Returns: the revision in which it has, or 0 if the watch has delivered it; nil if it has not, and also if that cannot be found
    ///   out, because the token has expired and its event was compacted.
    nonisolated(nonsending) mutating func resolve(
        _ client: EtcdClient, _ follower: EtcdFollower, _ timeout: Duration
    ) async throws -> Int64? {
        guard let lost = unknown else { return nil }
        if await follower.outcome(of: lost.attempt, until: .now) != nil {
            follower.forget(lost.attempt)
            unknown = nil
            return 0
        }
        // It may have ended, or may belong to another cluster.
        token.lease = nil
        try await renewLease(client, timeout)
        token.number += 1
        let tokenKey = keys.token(token.name)
        let void = Array("\(token.name) \(token.number)".utf8)
        var request = TxnRequest()
        request.compares = [TxnRequest.Compare(key: tokenKey, target: .modRevision(lost.revision))]
        request.success = [.put(PutRequest(key: tokenKey, value: void, lease: token.lease?.id ?? 0))]
        request.failure = [.range(RangeRequest(key: tokenKey))]
        let response = try await client.call(request, isRepeatable: true, deadline: .now + timeout)
        follower.forget(lost.attempt)
        unknown = nil
        if response.succeeded {
            token.revision = response.header.revision
            return nil
        }
        guard case .range(let range)? = response.results.first else { throw EtcdFailure(code: nil, message: "an answer is missing") }
        token.revision = range.keyValues.first?.modRevision ?? 0
        return range.keyValues.first?.value == Array(lost.attempt.utf8) ? token.revision : nil
    }

    private func request(
        _ entries: StorageEntries, over earlier: StorageEntries, _ follower: EtcdFollower, _ attempt: String
    ) throws -> TxnRequest? {
        let names = entries.editedKeys.sorted()
        let found = follower.read { known in
            known.compares(of: entries.readKeys, read: earlier).map { ($0, names.map { known.key(of: $0) }, known.historyWrite) }
        }
        guard let (compares, editedKeys, history) = found else { return nil }
        let tokenKey = keys.token(token.name)
        var request = TxnRequest()
        request.compares = [TxnRequest.Compare(key: tokenKey, target: .modRevision(token.revision))] + compares
        var deletes = false
        for (name, key) in zip(names, editedKeys) {
            guard let key else { throw EntryKeys.unusable(name) }
            if let value = entries[name] {
                request.success.append(.put(PutRequest(key: key, value: try Self.encoded(value, name))))
            } else {
                deletes = true
                request.success.append(.deleteRange(DeleteRangeRequest(key: key)))
            }
        }
        if let history {
            request.compares.append(history.compare)
            request.success.append(.put(history.put))
        }
        if deletes { request.success.append(.put(PutRequest(key: keys.fence, value: Array(attempt.utf8)))) }
        request.success.append(.put(PutRequest(key: tokenKey, value: Array(attempt.utf8), lease: token.lease?.id ?? 0)))
        request.failure = [.range(RangeRequest(key: tokenKey))]
        return request
    }

    /// The value of a key.
    static func encoded(_ value: PropertyListValue, _ name: String) throws(StorageError) -> [UInt8] {
        do throws(EntryValue.Failure) {
            return try EntryValue.encode(value, for: name)
        } catch {
            throw .unencodable(key: name, reason: error.reason)
        }
    }

    /// Grants a new lease in good time before the old one ends.
    private nonisolated(nonsending) mutating func renewLease(_ client: EtcdClient, _ timeout: Duration) async throws {
        if let lease = token.lease, .now < lease.renewal { return }
        let request = LeaseGrantRequest(timeToLive: EtcdToken.timeToLive)
        let granted = try await client.call(request, isRepeatable: true, deadline: .now + timeout)
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
    /// The reserved key of a token.
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
