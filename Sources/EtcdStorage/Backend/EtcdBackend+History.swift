public import ObservableStorage
import PropertyListCoding

extension EtcdBackend {
    /// The commits after a revision, unless etcd has compacted its history.
    ///
    /// - Returns: nil also if the cluster has lost its data since or was restored, and for a user who may not write: the end of the history
    ///   is found by a write under the prefix.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        try await reading {
            do {
                let replica = try await followed()
                if let revision, revision.history != replica.history { return nil }
                let (last, identity) = try await withTransaction { try await $0.mark() }
                // The watch may not have detected another history yet.
                guard replica.identity.isContinued(by: identity, since: replica.revision) else { return nil }
                guard let revision else { return try await commits(after: 0, upTo: last, of: replica, isExact: false) }
                guard let number = Int64(exactly: revision.number), number < last else { return nil }
                return try await commits(after: number, upTo: last, of: replica, isExact: true)
            } catch let failure as EtcdFailure where failure.isPermissionDenied {
                return nil
            }
        }
    }

    /// The commits after a revision up to another one; nil if they were compacted, take more memory than
    /// ``EtcdConfiguration/memoryLimit``, or belong to another history.
    ///
    /// - Parameters:
    ///   - last: a revision with an event under the prefix, at which reading ends.
    ///   - replica: the known state of the keys.
    ///   - isExact: whether the commits must begin there; otherwise they may begin with the oldest one that was not compacted.
    private nonisolated(nonsending) func commits(
        after first: Int64, upTo last: Int64, of replica: EtcdReplica.View, isExact: Bool, restarts: Int = 0
    ) async throws -> [StorageCommit]? {
        // With the one before: etcd, compacted up to the revision at which a watch begins, omits removals there without an error.
        let request = WatchRequest(key: keys.rangeStart, rangeEnd: keys.rangeEnd, startRevision: max(first, 1), includesPrevious: true)
        let (stream, _) = try await client.watch(request, deadline: .now + client.callTimeout)
        defer { stream.close() }
        let start = EtcdSnapshot(clusterID: replica.clusterID, revision: first, keyValues: [])
        var progress = WatchProgress(after: start, memoryLimit: client.configuration.memoryLimit)
        var commits: [StorageCommit] = []
        var memorySize = 0
        var splitter = GRPCMessageSplitter()
        while true {
            guard let response = try await stream.next(&splitter, deadline: .now + client.callTimeout) else { continue }
            if case let oldest = response.compactRevision, oldest > 0 {
                // A server that compacts again and again would be read for ever.
                guard !isExact, oldest > first, restarts < 3 else { return nil }
                if oldest >= last { return [] }
                stream.close()
                return try await self.commits(after: oldest, upTo: last, of: replica, isExact: false, restarts: restarts + 1)
            }
            switch progress.receive(response) {
            case .events(let revisions):
                for revision in revisions {
                    memorySize += revision.events.reduce(0) { $0 + $1.memorySize }
                    guard memorySize <= client.configuration.memoryLimit else { return nil }
                    if lacksOldValue(revision) {
                        // It was compacted after the watch had begun.
                        guard !isExact else { return nil }
                        commits = []
                    } else if let commit = commit(revision, of: replica) {
                        commits.append(commit)
                    }
                    if revision.number >= last { return commits }
                }
            case .created, .isBehind: continue
            case .reset: return nil
            case .ended(let failure): throw failure
            }
        }
    }

    /// Whether the old value of an entry is missing, which does not mean that there was none.
    private func lacksOldValue(_ revision: WatchProgress.Revision) -> Bool {
        revision.events.contains { event in
            guard event.lacksPrevious, case .entry = keys.meaning(of: event.keyValue.key) else { return false }
            return true
        }
    }

    /// The edits of a revision; nil if it has no edits of entries.
    private func commit(_ revision: WatchProgress.Revision, of replica: EtcdReplica.View) -> StorageCommit? {
        var edits: [String: StorageCommit.Edit] = [:]
        for event in revision.events {
            guard case .entry(let name) = keys.meaning(of: event.keyValue.key) else { continue }
            let old = event.previous.map { PropertyListValue(leniently: $0.value) }
            let new = event.isDelete ? nil : PropertyListValue(leniently: event.keyValue.value)
            edits[name] = StorageCommit.Edit(from: old, to: new)
        }
        let number = StorageRevision(history: replica.history, number: UInt64(clamping: revision.number))
        return edits.isEmpty ? nil : StorageCommit(edits, revision: number)
    }
}
