import ObservableStorage
import PropertyListCoding

/// Reads the past commits under a prefix that etcd has not compacted.
struct EtcdHistory {
    let client: EtcdClient
    let keys: EntryKeys
    /// How long a member may be silent.
    let timeout: Duration

    /// The commits after a revision up to another one; nil if they were compacted, take more memory than
    /// ``EtcdConfiguration/memoryLimit``, or belong to another history.
    ///
    /// - Parameters:
    ///   - revision: the revision after which they begin; nil to begin with the oldest one that was not compacted.
    ///   - last: a revision with an event under the prefix, at which reading ends.
    ///   - replica: the known state of the keys.
    func commits(since revision: Int64?, upTo last: Int64, of replica: EtcdReplica.View) async throws -> [StorageCommit]? {
        var first = revision ?? 0
        while true {
            switch try await read(since: first, upTo: last, of: replica) {
            case .commits(let commits): return commits
            case .compacted(let oldest) where revision == nil && oldest > first: first = oldest
            case .compacted, .tooLarge, .otherHistory: return nil
            }
        }
    }

    private enum Outcome {
        case commits([StorageCommit])
        case compacted(Int64)
        case tooLarge
        case otherHistory
    }

    private func read(since first: Int64, upTo last: Int64, of replica: EtcdReplica.View) async throws -> Outcome {
        var request = WatchRequest.Create(key: keys.rangeStart, rangeEnd: keys.rangeEnd, startRevision: first + 1)
        (request.allowsFragments, request.includesPrevious) = (true, true)
        let (stream, _) = try await client.watch(request, deadline: .now + timeout)
        defer { stream.close() }
        let start = EtcdSnapshot(clusterID: replica.clusterID, revision: first, keyValues: [])
        var progress = WatchProgress(after: start, memoryLimit: client.memoryLimit)
        var commits: [StorageCommit] = []
        var memorySize = 0
        while true {
            for response in try await stream.next(deadline: .now + timeout) {
                if response.compactRevision > 0 { return .compacted(response.compactRevision) }
                switch progress.receive(response) {
                case .events(let revisions):
                    for revision in revisions {
                        memorySize += revision.events.reduce(0) { $0 + $1.memorySize }
                        guard memorySize <= client.memoryLimit else { return .tooLarge }
                        if let commit = commit(revision, of: replica) { commits.append(commit) }
                        if revision.number >= last { return .commits(commits) }
                    }
                case .created, .isBehind: continue
                case .reset: return .otherHistory
                case .ended(let failure): throw failure
                }
            }
        }
    }

    /// The edits of a revision; nil if it has no edits of entries.
    private func commit(_ revision: WatchProgress.Revision, of replica: EtcdReplica.View) -> StorageCommit? {
        var edits: [String: StorageCommit.Edit] = [:]
        for event in revision.events {
            guard case .entry(let name) = keys.meaning(of: event.keyValue.key) else { continue }
            let old = event.previous.map { EntryValue.decodeLeniently($0.value, for: name) }
            let new = event.isDelete ? nil : EntryValue.decodeLeniently(event.keyValue.value, for: name)
            edits[name] = StorageCommit.Edit(from: old, to: new)
        }
        let number = StorageRevision(history: replica.history, number: UInt64(clamping: revision.number))
        return edits.isEmpty ? nil : StorageCommit(edits, revision: number)
    }
}
