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
