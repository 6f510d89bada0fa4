import ObservableStorage

// Which transactions are in use, and whether those without a known outcome have taken effect.
extension EtcdBackend {
    /// Runs a closure with a transaction that no other task uses meanwhile.
    nonisolated(nonsending) func withTransaction<Result>(
        _ body: nonisolated(nonsending) (inout EtcdTransaction) async throws -> Result
    ) async rethrows -> Result {
        var transaction = transactions.withLock { $0.popLast() } ?? EtcdTransaction(client, follower, timeout: callTimeout)
        defer {
            if let identity = transaction.identity, transaction.unknown != nil {
                unknownTransactions.withLock { $0[identity] = transaction }
            } else {
                transactions.withLock { $0.append(transaction) }
            }
        }
        return try await body(&transaction)
    }

    /// Finds out whether edits have taken effect, and returns after the watch has reached them.
    nonisolated(nonsending) func outcomes(of identities: Set<UInt64>) async throws -> [UInt64: Bool] {
        var outcomes: [UInt64: Bool] = [:]
        for identity in identities { outcomes[identity] = try await hasEffect(identity) }
        return outcomes
    }

    private nonisolated(nonsending) func hasEffect(_ identity: UInt64) async throws -> Bool {
        guard let effect = try await effect(of: identity) else { return false }
        // Otherwise entries could be returned that the edits have replaced.
        let isReached = await follower.wait(until: .now + follower.timing.arrival) {
            $0.revision >= effect.revision || $0.history != effect.history
        }
        guard isReached else { throw EtcdFailure(code: nil, message: "an earlier edit is stored, but no member can be watched") }
        effects.withLock { $0[identity] = nil }
        // Another history may not contain it.
        return follower.read { $0.history } == effect.history
    }

    /// Finds out where edits of unknown outcome have taken effect; returns nil if they have not.
    private nonisolated(nonsending) func effect(of identity: UInt64) async throws -> (revision: Int64, history: String)? {
        if let effect = effects.withLock({ $0[identity] }) { return effect }
        guard var transaction = unknownTransactions.withLock({ $0.removeValue(forKey: identity) }) else { return nil }
        do {
            let revision = try await transaction.resolve()
            transactions.withLock { $0.append(transaction) }
            guard let revision, let history = follower.read({ $0.history }) else { return nil }
            effects.withLock { $0[identity] = (revision, history) }
            return (revision, history)
        } catch {
            unknownTransactions.withLock { $0[identity] = transaction }
            throw error
        }
    }
}
