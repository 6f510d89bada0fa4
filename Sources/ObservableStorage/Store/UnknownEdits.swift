/// The edits of commits whose outcome has remained unknown, so that those that were stored are not stored again over others' later ones.
///
/// A backend that can find out what has become of them tells it in ``StorageEntries/repetition`` before it stores anything else.
final class UnknownEdits: Sendable {
    private struct State {
        /// The edits of commits, by the identities of the commits.
        var unknown: [UInt64: [String: PendingEdit]] = [:]
        /// Those of them that are known to be stored.
        var stored: [String: PendingEdit] = [:]
    }

    private let state = Lock(State())

    /// What is still to be stored of pending edits, after what the backend has told of earlier ones.
    ///
    /// - Parameters:
    ///   - edits: the pending edits of a commit.
    ///   - identity: identifies the commit.
    ///   - entries: the entries that are edited, with what the backend tells; afterwards with what it has to find out.
    func remaining(_ edits: [String: PendingEdit], of identity: UInt64, in entries: inout StorageEntries) -> [String: PendingEdit] {
        if edits.isEmpty { return edits }
        let outcomes = entries.repetition.outcomes
        let (unknown, stored) = state.withLock { state in
            for (identity, isStored) in outcomes {
                guard let edits = state.unknown.removeValue(forKey: identity), isStored else { continue }
                state.stored.merge(edits) { $0.revision > $1.revision ? $0 : $1 }
            }
            return (Set(state.unknown.keys), state.stored)
        }
        (entries.repetition.identity, entries.repetition.unknown) = (identity, unknown)
        return stored.reduce(into: edits) { rest, edit in rest[edit.key] = rest[edit.key]?.remaining(after: edit.value) }
    }

    /// Notes that the outcome of a commit is unknown.
    func noteUnknown(_ edits: [String: PendingEdit], of identity: UInt64) {
        if !edits.isEmpty { state.withLock { $0.unknown[identity] = edits } }
    }

    /// Notes that pending edits are stored now, and that the backend cannot tell more about earlier commits.
    func noteStored(_ edits: [String: PendingEdit], after identities: Set<UInt64>) {
        state.withLock { state in
            for name in edits.keys { state.stored[name] = nil }
            for identity in identities { state.unknown[identity] = nil }
        }
    }
}

extension PendingEdit {
    /// What is left of the edit after an earlier state of it was stored; nil if that was all of it.
    fileprivate func remaining(after stored: PendingEdit) -> PendingEdit? {
        if stored.revision == revision { return nil }
        // Of edits inside the dictionary, the later ones are left.
        guard !stored.paths.isEmpty, paths.count > stored.paths.count, paths.starts(with: stored.paths) else { return self }
        var edit = self
        edit.paths.removeFirst(stored.paths.count)
        return edit
    }
}
