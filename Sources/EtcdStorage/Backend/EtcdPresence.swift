package import ObservableStorage
package import PropertyListCoding

/// A key with a lease, which is renewed as long as the process runs.
///
/// The transaction that stores it also writes a receipt, a reserved key with the same lease, which shows that it has taken effect: sent
/// again after a lost response, it does not replace what others have stored or removed since.
struct EtcdPresence: Sendable {
    let name: String
    let key: [UInt8]
    let value: [UInt8]
    /// The time to live in seconds.
    let timeToLive: Int64
    let follower: EtcdFollower
    /// The last revision in which the key is known to have been stored.
    var revision: Int64 = 0
    /// Whether a later request to store it has had no response, so that it may be stored since.
    var isUncertain = false
    /// Whether the key is known to have been stored with the present lease.
    var isStored = false
    private var lease: Int64 = 0
    /// The interval at which the lease is renewed.
    private(set) var interval = Duration.zero
    // Whether another process has stored the key, after the lease had expired.
    private var isReplaced = false

    fileprivate var client: EtcdClient { follower.client }

    init(_ name: String, key: [UInt8], value: [UInt8], timeToLive: Duration, _ follower: EtcdFollower) {
        (self.name, self.key, self.value, self.follower) = (name, key, value, follower)
        self.timeToLive = max(1, timeToLive.components.seconds + (timeToLive.components.attoseconds > 0 ? 1 : 0))
    }

    /// Stores the key with a new lease.
    ///
    /// - Parameter isReplacing: whether to replace a stored value.
    /// - Throws: also if there is a value that must not be replaced.
    mutating func store(isReplacing: Bool) async throws {
        let granted = try await client.grantLease(timeToLive: timeToLive)
        (lease, isStored) = (granted.lease, false)
        // At least daily: a server may grant more seconds than a clock can count.
        interval = .seconds(min(granted.timeToLive, 86_400)) / follower.timing.renewals
        try await put(isReplacing: isReplacing)
    }

    private mutating func put(isReplacing: Bool, identifiesHistory: Bool = true) async throws {
        let receipt = follower.keys.receipt(of: lease)
        var request = TxnRequest(
            compares: [TxnRequest.Compare(key: receipt, modRevision: 0)],
            success: [.put(key: key, value: value, lease: lease), .put(key: receipt, value: [], lease: lease)],
            failure: [.range(RangeRequest(key: receipt))])
        if !isReplacing { request.compares.append(TxnRequest.Compare(key: key, modRevision: 0)) }
        let history = identifiesHistory ? follower.read { $0.historyWrite } : nil
        request.add(history)
        let wasUncertain = isUncertain
        isUncertain = true
        let response: TxnRequest.Response
        do {
            response = try await client.call(request, deadline: .now + client.callTimeout)
        } catch {
            let failure = EtcdFailure(tooLarge: error)
            // An earlier attempt of the same request may have arrived; the response to this one is never too large.
            if failure != nil && error is EtcdFailure || (error as? EtcdUnavailable)?.mayHaveArrived == false { isUncertain = wasUncertain }
            throw failure.map { StorageError.tooLarge(key: name, reason: "\(follower.name) does not take it: \($0)") } ?? error
        }
        isUncertain = false
        if response.succeeded {
            (revision, isStored) = (response.header.revision, true)
        } else if let stored = response.ranges.first??.first {
            // An earlier attempt has taken effect, whatever others have done since.
            (revision, isStored) = (stored.modRevision, true)
        } else if history != nil {
            // Another process has stored the history's number meanwhile.
            return try await put(isReplacing: isReplacing, identifiesHistory: false)
        } else {
            isReplaced = true
            let reason = "it was not renewed in time, and the entry is another process's now"
            throw EtcdFailure(code: nil, message: "the presence of \"\(name)\" has ended: \(reason)")
        }
    }

    /// Renews the lease until the task is cancelled, and stores the key again if the lease has expired.
    ///
    /// - Parameter report: called with the first of consecutive errors, except those that the storage reports as unavailability.
    mutating func keep(_ report: (any Error) -> Void) async {
        var (isFailing, pause) = (false, interval)
        while true {
            do {
                try await Task.sleep(for: pause)
                // Retry sooner after a failure.
                pause = interval / 4
                do {
                    let renewed = try await client.call(LeaseRequest.keepAlive(lease), deadline: .now + interval)
                    if renewed.timeToLive <= 0 {
                        try await store(isReplacing: false)
                    } else if !isStored {
                        try await put(isReplacing: false)
                    }
                } catch let failure as EtcdFailure where failure.isLeaseNotFound {
                    try await store(isReplacing: false)
                }
                (isFailing, pause) = (false, interval)
            } catch is CancellationError {
                return
            } catch is EtcdUnavailable {
                // The watch reports that no member responds.
            } catch {
                if !isFailing { report(error) }
                if isReplaced { return }
                isFailing = true
            }
        }
    }

    /// Revokes the lease, which deletes the key, unless someone else has stored it again without this lease.
    ///
    /// - Returns: the revision at the end; nil if the lease had ended before.
    func end() async throws -> Int64? {
        do {
            return try await client.call(LeaseRequest.revoke(lease), deadline: .now + client.callTimeout).header.revision
        } catch let failure as EtcdFailure where failure.isLeaseNotFound {
            // It has expired.
        } catch let unavailable as EtcdUnavailable where (unavailable.error as? EtcdFailure)?.isLeaseNotFound == true {
            // An earlier attempt, whose response was lost, has revoked it.
        }
        return nil
    }

    /// Whether a replica has come to the end, after which the entry is not this one.
    ///
    /// After a request without a response, a replica in which nothing more is written may not come to the end, which then is waited for
    /// until the time limit.
    ///
    /// - Parameter end: the revision at the end, if it is known. Others may have been written outside of the replica since the last one there.
    func hasEnded(at end: Int64?, in replica: EtcdReplica) -> Bool {
        // Another revision of the entry is an earlier one until the replica has come to the last one, which may be the one at the end.
        let last = isUncertain ? end ?? revision : revision
        return replica.view.revision >= last && replica.revisions.modRevision(of: name) != revision
    }
}

extension EtcdBackend {
    /// Stores an entry with a lease, which is renewed three times during its time to live, until the presence ends.
    ///
    /// - Parameters:
    ///   - name: the name of the entry. A stored value is replaced.
    ///   - value: the value of the entry.
    ///   - timeToLive: rounded up to seconds, and to the cluster's minimum, which is 2 seconds by default.
    /// - Returns: the presence, after the entry is stored and the watch has delivered it.
    /// - Throws: as ``edit(_:)``.
    package nonisolated(nonsending) func presence(
        _ name: String, _ value: PropertyListValue, timeToLive: Duration
    ) async throws -> Presence? {
        let stored = try await writing { try await startPresence(name, value, timeToLive) }
        await follower.wait(until: .now + client.callTimeout) { $0.view.revision >= stored.revision }
        let renewing = Task { [follower] in
            var presence = stored
            await presence.keep { follower.events.publish(.failed(.unwritable(file: follower.name, reason: "\($0)"))) }
            return presence
        }
        return Presence { [weak self] in
            renewing.cancel()
            // Not cancelled, although the task of a service that ends may be.
            try await Task {
                let presence = await renewing.value
                do {
                    let end = try await presence.end()
                    let deadline = ContinuousClock.now + presence.client.callTimeout
                    await self?.follower.wait(until: deadline) { presence.hasEnded(at: end, in: $0) }
                } catch {
                    let reason = "\(error); the entry is removed after its time to live"
                    throw StorageError.unwritable(file: presence.follower.name, reason: reason)
                }
            }.value
        }
    }

    private nonisolated(nonsending) func startPresence(
        _ name: String, _ value: PropertyListValue, _ timeToLive: Duration
    ) async throws -> EtcdPresence {
        _ = try await followed()
        guard let key = follower.read({ $0.revisions.key(of: name) }) else { throw EntryKeys.unusable(name) }
        let bytes = try value.etcdBytes(for: name)
        let presence = EtcdPresence(name, key: key, value: bytes, timeToLive: timeToLive, follower)
        try Task.checkCancellation()
        do {
            // In a task of its own, which is not cancelled: a request that was sent may take effect.
            return try await Task {
                var presence = presence
                try await presence.store(isReplacing: true)
                return presence
            }.value
        } catch let unavailable as EtcdUnavailable where unavailable.mayHaveArrived {
            throw StorageError.outcomeUnknown(storage: self.name, reason: "\(unavailable.error); the entry ends with its time to live")
        }
    }
}

extension EntryKeys {
    /// A reserved key that is stored together with the key of a presence, and deleted with their lease.
    fileprivate func receipt(of lease: Int64) -> [UInt8] { reservedKey("presence/" + String(lease, radix: 16)) }
}
