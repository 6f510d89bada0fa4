/// The keys of a range with their values, as they were at one revision.
struct EtcdSnapshot: Sendable, Hashable {
    /// The cluster.
    var clusterID: UInt64
    /// The revision at which they were read.
    var revision: Int64
    /// The keys in the order of their bytes; without values if only keys were asked for.
    var keyValues: [KeyValue]
}

extension EtcdClient {
    /// Reads all keys of a range at one revision, the newest one, in pages.
    ///
    /// Begins anew if that revision is compacted meanwhile, or if another cluster answers.
    ///
    /// - Parameter pageTimeout: how long one page may take.
    /// - Throws: the failure of a page, that of the last one if there was always a reason to begin anew.
    func snapshot(
        from start: [UInt8], to end: [UInt8], keysOnly: Bool = false, pageSize: Int64 = 1_000, pageTimeout: Duration
    ) async throws -> EtcdSnapshot {
        let first = RangeRequest(key: start, rangeEnd: end, limit: pageSize, keysOnly: keysOnly)
        var restarts = 0
        while true {
            do {
                return try await snapshot(from: first, pageTimeout: pageTimeout)
            } catch let failure as EtcdFailure where (failure.isCompacted || failure.isFutureRevision) && restarts < 3 {
                restarts += 1
            }
        }
    }

    private func snapshot(from first: RangeRequest, pageTimeout: Duration) async throws -> EtcdSnapshot {
        var request = first
        var page = try await call(request, isRepeatable: true, deadline: .now + pageTimeout)
        var snapshot = EtcdSnapshot(clusterID: page.header.clusterID, revision: page.header.revision, keyValues: page.keyValues)
        while page.hasMore, let last = page.keyValues.last {
            request.revision = snapshot.revision
            request.key = last.key + [0]
            page = try await call(request, isRepeatable: true, deadline: .now + pageTimeout)
            // The revision is one of another history then, as one that is compacted.
            guard page.header.clusterID == snapshot.clusterID else {
                throw EtcdFailure(code: 11, message: "required revision has been compacted: another cluster answers")
            }
            snapshot.keyValues += page.keyValues
        }
        return snapshot
    }
}
