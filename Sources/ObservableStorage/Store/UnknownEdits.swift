/// The edits of commits whose outcome has remained unknown, so that those that were stored are not stored again over others' later ones.
///
/// A backend that can find out what has become of them does so before it stores anything else; see ``CommitOptions``.
final class UnknownEdits: Sendable {
    // The edits of commits, by the identities of the commits, and those of them that are known to be stored.
    private let state = Lock<(unknown: [UInt64: [String: PendingEdit]], stored: [String: PendingEdit])>(([:], [:]))

    /// Whether every commit is known to be stored or not, and what was stored is no longer pending.
    var isEmpty: Bool { state.withLock { $0.unknown.isEmpty && $0.stored.isEmpty } }

    var commits: Set<UInt64> { state.withLock { Set($0.unknown.keys) } }

    /// Adds the edits of a commit whose outcome is unknown.
    func insert(_ edits: [String: PendingEdit], of commit: UInt64) {
        if !edits.isEmpty { state.withLock { $0.unknown[commit] = edits } }
    }

    /// Records whether commits have taken effect, as the backend has found out.
    func resolve(_ outcomes: [UInt64: Bool]) {
        state.withLock { state in
            for (commit, isStored) in outcomes {
                guard let edits = state.unknown.removeValue(forKey: commit), isStored else { continue }
                state.stored.merge(edits) { $0.revision > $1.revision ? $0 : $1 }
            }
        }
    }

    /// What is still to be stored of pending edits.
    func remaining(of edits: [String: PendingEdit]) -> [String: PendingEdit] {
        if edits.isEmpty { return edits }
        let stored = state.withLock { $0.stored }
        return stored.reduce(into: edits) { rest, edit in rest[edit.key] = rest[edit.key]?.remaining(after: edit.value) }
    }

    /// Removes edits that are stored now, and commits about which the backend cannot find out more.
    func remove(_ edits: [String: PendingEdit], of commits: Set<UInt64>) {
        state.withLock { state in
            for name in edits.keys { state.stored[name] = nil }
            for commit in commits { state.unknown[commit] = nil }
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
