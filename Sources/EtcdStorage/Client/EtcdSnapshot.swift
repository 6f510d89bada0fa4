/// The keys of a range with their values, as they were at one revision.
struct EtcdSnapshot: Sendable, Hashable {
    var clusterID: UInt64
    var revision: Int64
    /// The keys in the order of their bytes; without values if only keys were requested.
    var keyValues: [KeyValue]

    /// Decodes and appends a page of a range, whose keys have to follow those before; returns the keys.
    fileprivate mutating func append(_ page: RangeRequest.Response, of range: RangeRequest) throws -> ArraySlice<KeyValue> {
        let start = keyValues.count
        var last = keyValues.last?.key
        for unread in page.unread {
            let keyValue = try KeyValue(unread: unread)
            let isNext = last.map { $0.lexicographicallyPrecedes(keyValue.key) } ?? !keyValue.key.lexicographicallyPrecedes(range.key)
            guard isNext else { throw EtcdFailure(foreign: "its keys are not in their order, each once") }
            last = keyValue.key
            keyValues.append(keyValue)
        }
        // NUL means that the range has no end.
        if let last, range.rangeEnd != [0], !last.lexicographicallyPrecedes(range.rangeEnd) {
            throw EtcdFailure(foreign: "it has keys that are not in the range")
        }
        return keyValues[start...]
    }
}

extension RangeRequest {
    /// The request for the page after another one, at a revision; nil if that was the last one.
    ///
    /// - Parameter size: the size in bytes up to which pages grow.
    fileprivate func next(after page: Response, at revision: Int64, growingTo size: Int) throws(EtcdFailure) -> RangeRequest? {
        guard page.hasMore, let last = page.unread.last else { return nil }
        var request = self
        request.key = try KeyValue(unread: last).key + [0]
        // More than on this page if its keys are small, because etcd counts all keys after each page.
        let count = Int64(page.unread.count)
        let ownSize = page.unread.reduce(1) { $0 + Int64($1.unreadCount) }
        request.limit = max(count, min(8 * count, count * Int64(size) / ownSize))
        request.revision = revision
        return request
    }
}

extension EtcdClient {
    /// Reads all keys of a range at the newest revision, in pages, which become smaller if the values are too large, and larger while they
    /// are small.
    ///
    /// Restarts if that revision is compacted meanwhile, or if another cluster responds. Fails if the pages do not advance, or take more
    /// memory than ``EtcdConfiguration/memoryLimit``: a broken member might never send the last page.
    ///
    /// - Parameters:
    ///   - pageTimeout: the timeout of each page, and of each attempt with a smaller one.
    ///   - receive: called with each page, while the next one is being requested: the snapshot up to there, the keys of the page, which begin
    ///     at 0 in the first one, also of a snapshot that was restarted, and the number of all keys.
    /// - Throws: the failure of a page; after several restarts, that of the last one.
    nonisolated(nonsending) func snapshot(
        from start: [UInt8], to end: [UInt8], keysOnly: Bool = false, pageSize: Int64 = 1_000, pageTimeout: Duration,
        _ receive: (_ snapshot: EtcdSnapshot, _ page: ArraySlice<KeyValue>, _ keyCount: Int) -> Void = { _, _, _ in }
    ) async throws -> EtcdSnapshot {
        let first = RangeRequest(key: start, rangeEnd: end, limit: pageSize, keysOnly: keysOnly)
        var restarts = 0
        while true {
            do {
                return try await snapshot(from: first, pageTimeout: pageTimeout, receive)
            } catch let failure as EtcdFailure where (failure.isCompacted || failure.isFutureRevision) && restarts < 3 {
                restarts += 1
            } catch let failure as EtcdFailure where failure.code == nil {
                // Another member may respond correctly.
                await markFailed()
                throw failure
            }
        }
    }

    private nonisolated(nonsending) func snapshot(
        from first: RangeRequest, pageTimeout: Duration,
        _ receive: (_ snapshot: EtcdSnapshot, _ page: ArraySlice<KeyValue>, _ keyCount: Int) -> Void
    ) async throws -> EtcdSnapshot {
        var response = try await page(first, timeout: pageTimeout)
        var snapshot = EtcdSnapshot(clusterID: response.header.clusterID, revision: response.header.revision, keyValues: [])
        var memorySize = 0
        func add(_ response: RangeRequest.Response) throws {
            let page = try snapshot.append(response, of: first)
            memorySize += page.reduce(0) { $0 + $1.memorySize }
            let memoryLimit = configuration.memoryLimit
            guard memorySize <= memoryLimit else {
                let reason = "take more than \(memoryLimit) bytes of memory; choose a longer prefix, or raise EtcdConfiguration.memoryLimit"
                throw EtcdFailure(code: nil, message: "the keys under the prefix \(reason)")
            }
            receive(snapshot, page, Int(clamping: response.count))
        }
        // Half a megabyte of the 64 that a store allows, which a member can send in time.
        while let request = try first.next(after: response, at: snapshot.revision, growingTo: largestResponse / 128) {
            async let next = page(request, timeout: pageTimeout)
            // Lets the request be sent first: a page is decoded while etcd prepares the next one (etcd.open.10000: 1.7 x otherwise).
            await Task.yield()
            try add(response)
            response = try await next
            // The revision belongs to another history then, which is treated like a compacted one.
            guard response.header.clusterID == snapshot.clusterID else {
                throw EtcdFailure(code: 11, message: "required revision has been compacted: another cluster responds")
            }
        }
        try add(response)
        return snapshot
    }

    private nonisolated(nonsending) func page(_ request: RangeRequest, timeout: Duration) async throws -> RangeRequest.Response {
        var request = request
        while true {
            do {
                let page = try await call(request, deadline: .now + timeout)
                guard page.unread.count <= request.limit else {
                    throw EtcdFailure(foreign: "it has \(page.unread.count) keys instead of at most \(request.limit)")
                }
                guard !page.hasMore || !page.unread.isEmpty else { throw EtcdFailure(foreign: "it has no keys, although there are more") }
                return page
            } catch let error where error.isResponseTooLarge {
                guard request.limit > 1 else { throw error }
                request.limit = max(request.limit / 8, 1)
            }
        }
    }
}

extension Error {
    /// Whether a response has too many bytes, or takes too much memory, so that a smaller one can be read.
    fileprivate var isResponseTooLarge: Bool {
        (self as? ConnectionError)?.reason == .responseTooLarge || (self as? EtcdFailure)?.isResponseTooLarge == true
    }
}
