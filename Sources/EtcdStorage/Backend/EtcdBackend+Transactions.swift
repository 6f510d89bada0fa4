import ObservableStorage

// Which transactions are in use, and whether those without a known outcome have taken effect.
extension EtcdBackend {
    /// Runs a closure with a transaction that no other task uses meanwhile.
    nonisolated(nonsending) func withTransaction<Result>(
        _ body: nonisolated(nonsending) (inout EtcdTransaction) async throws -> Result
    ) async rethrows -> Result {
        var transaction = transactions.withLock { $0.popLast() } ?? EtcdTransaction(follower)
        defer { release(transaction) }
        return try await body(&transaction)
    }

    private func release(_ transaction: EtcdTransaction) {
        if let identity = transaction.identity, !transaction.isResolved {
            unresolved.withLock { $0[identity] = transaction }
        } else {
            transactions.withLock { $0.append(transaction) }
        }
    }

    /// Finds out whether edits have taken effect, and returns after the watch has reached them.
    nonisolated(nonsending) func outcomes(of identities: Set<UInt64>) async throws -> [UInt64: Bool] {
        var outcomes: [UInt64: Bool] = [:]
        for identity in identities { outcomes[identity] = try await hasEffect(identity) }
        return outcomes
    }

    private nonisolated(nonsending) func hasEffect(_ identity: UInt64) async throws -> Bool {
        guard var transaction = unresolved.withLock({ $0.removeValue(forKey: identity) }) else { return false }
        defer { release(transaction) }
        try await transaction.resolve()
        guard let effect = transaction.effect else { return false }
        // Otherwise entries could be returned that the edits have replaced.
        let isReached = await follower.wait(until: .now + follower.timing.arrival) {
            $0.view.revision >= effect.revision || $0.view.history != effect.history
        }
        guard isReached else { throw EtcdFailure(code: nil, message: "an earlier edit is stored, but no member can be watched") }
        transaction.effect = nil
        // Another history may not contain it.
        return follower.latest?.history == effect.history
    }
}

extension EtcdTransaction {
    /// Whether entries that an edit has read, without changing any, are still those in etcd.
    ///
    /// - Parameter names: the names of the entries; nil for all.
    nonisolated(nonsending) mutating func isLatest(_ replica: EtcdReplica.View, of names: Set<String>?) async throws -> Bool {
        let deadline = ContinuousClock.now + client.callTimeout
        if let names, !names.isEmpty, names.count <= maximumCompares {
            guard let compares = follower.read({ $0.compares(of: names, read: replica.entries) }) else { return false }
            // Without an operation, a member responds without the others, and may lag behind them.
            let request = TxnRequest(compares: compares, success: [.range(RangeRequest(key: follower.keys.fence, keysOnly: true))])
            do {
                let response = try await client.call(request, deadline: deadline)
                return response.header.clusterID == replica.clusterID && response.succeeded
            } catch {
                guard let failure = EtcdFailure(tooLarge: error) else { throw error }
                if failure.isForOperations { maximumCompares = names.count / 2 }
            }
        }
        let newer = RangeRequest(
            key: follower.keys.entriesStart, rangeEnd: follower.keys.rangeEnd, limit: 1, keysOnly: true,
            minModRevision: replica.revision + 1)
        let response = try await client.call(newer, deadline: deadline)
        // A deletion changes the number of keys.
        return response.header.clusterID == replica.clusterID && response.unread.isEmpty && response.count == replica.keyCount
    }
}
