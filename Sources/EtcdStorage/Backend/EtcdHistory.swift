import ObservableStorage
import PropertyListCoding

/// Reads the past commits of a prefix, as far as etcd has not compacted them.
struct EtcdHistory {
    let client: EtcdClient
    let keys: EntryKeys
    /// How long a member may be silent.
    let timeout: Duration

    /// The commits after a revision up to another one; nil if they have been compacted, or if the history is another one.
    ///
    /// - Parameters:
    ///   - revision: the revision after which they begin; nil for the oldest that is remembered.
    ///   - last: a revision with an event under the prefix, at which reading ends.
    ///   - replica: what is known of the cluster.
    func commits(since revision: Int64?, upTo last: Int64, of replica: EtcdReplica.View) async throws -> [StorageCommit]? {
        var first = revision ?? 0
        while true {
            switch try await read(since: first, upTo: last, of: replica) {
            case .commits(let commits): return commits
            case .compacted(let oldest) where revision == nil && oldest > first: first = oldest
            case .compacted, .otherHistory: return nil
            }
        }
    }

    private enum Outcome {
        case commits([StorageCommit])
        case compacted(Int64)
        case otherHistory
    }

    private func read(since first: Int64, upTo last: Int64, of replica: EtcdReplica.View) async throws -> Outcome {
        var request = WatchRequest.Create(key: keys.rangeStart, rangeEnd: keys.rangeEnd, startRevision: first + 1)
        (request.allowsFragments, request.includesPrevious) = (true, true)
        let deadline = ContinuousClock.now + timeout
        let (stream, _) = try await client.openStream(
            WatchRequest.path, first: WatchRequest.create(request).body, fields: [], deadline: deadline)
        defer { stream.close() }
        var progress = WatchProgress(after: EtcdSnapshot(clusterID: replica.clusterID, revision: first, keyValues: []))
        var commits: [StorageCommit] = []
        var lines = LineSplitter()
        while let part = try await stream.next(deadline: .now + timeout) {
            for line in lines.append(part) {
                switch try StreamMessage<WatchResponse>(line: line) {
                case .failure(let failure): throw failure
                case .result(let response):
                    if response.compactRevision > 0 { return .compacted(response.compactRevision) }
                    switch progress.receive(response) {
                    case .events(let revisions):
                        for revision in revisions {
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
        throw EtcdFailure(code: nil, message: "the member has ended the stream of the history")
    }

    /// The edits of a revision; nil if it has none of entries.
    private func commit(_ revision: WatchProgress.Revision, of replica: EtcdReplica.View) -> StorageCommit? {
        var edits: [String: StorageCommit.Edit] = [:]
        for event in revision.events {
            guard case .entry(let name) = keys.meaning(of: event.keyValue.key) else { continue }
            let old = event.previous.map { EtcdReplica.value($0.value, of: name) }
            edits[name] = StorageCommit.Edit(from: old, to: event.isDelete ? nil : EtcdReplica.value(event.keyValue.value, of: name))
        }
        let number = StorageRevision(history: replica.history, number: UInt64(clamping: revision.number))
        return edits.isEmpty ? nil : StorageCommit(edits, revision: number)
    }
}
