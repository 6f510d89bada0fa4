/// The keys of a range with their values, as they were at one revision.
struct EtcdSnapshot: Sendable, Hashable {
    /// The cluster.
    var clusterID: UInt64
    /// The revision at which they were read.
    var revision: Int64
    /// The keys in the order of their bytes; without values if only keys were asked for.
    var keyValues: [KeyValue]

    /// Adds a page of a range, whose keys have to follow those before.
    fileprivate mutating func append(_ page: [KeyValue], of range: RangeRequest) throws(EtcdFailure) {
        var last = keyValues.last?.key
        for keyValue in page {
            let isNext = last.map { $0.lexicographicallyPrecedes(keyValue.key) } ?? !keyValue.key.lexicographicallyPrecedes(range.key)
            guard isNext else { throw EtcdFailure(page: "its keys are not in their order, each once") }
            last = keyValue.key
        }
        // A NUL stands for no end.
        if let last, let end = range.rangeEnd, end != [0], !last.lexicographicallyPrecedes(end) {
            throw EtcdFailure(page: "it has keys that are not in the range")
        }
        keyValues += page
    }
}

extension EtcdFailure {
    /// A page that is not what was asked for.
    fileprivate init(page reason: String) {
        self.init(code: nil, message: "the answer is none of etcd's: \(reason); check what serves at the address")
    }
}

extension EtcdSnapshot {
    /// A part of a snapshot, in the order of the keys.
    struct Page: Sendable {
        /// The cluster.
        var clusterID: UInt64
        /// The revision of all pages of the snapshot.
        var revision: Int64
        /// The keys with their values.
        var keyValues: [KeyValue]
        /// Whether it is the first one, also of a snapshot that is begun anew.
        var isFirst: Bool
        /// The number of keys of all pages.
        var keyCount: Int
    }
}

/// Reads the keys of a range, whose values are read from the answer later: the next page can be asked for before.
private struct PageRequest: EtcdRequest {
    var range: RangeRequest

    static var path: String { RangeRequest.path }

    static var isRead: Bool { true }

    func write(to writer: inout ProtobufWriter) {
        range.write(to: &writer)
    }

    /// The request for the keys after those of a page, at a revision; nil if they were the last.
    ///
    /// - Parameter size: the number of bytes up to which pages grow.
    func next(after page: Response, at revision: Int64, growingTo size: Int) throws(EtcdFailure) -> PageRequest? {
        guard page.hasMore, let key = try page.lastKey() else { return nil }
        var request = self
        request.range.key = key + [0]
        request.range.limit = page.nextCount(growingTo: size)
        request.range.revision = revision
        return request
    }

    /// Checks that a page has as many keys as were asked for at most, and is not empty if there are more.
    func check(_ page: Response) throws(EtcdFailure) {
        guard page.unread.count <= range.limit else {
            throw EtcdFailure(page: "it has \(page.unread.count) keys instead of \(range.limit) at most")
        }
        guard !page.hasMore || !page.unread.isEmpty else { throw EtcdFailure(page: "it has no keys, although there are more") }
    }

    /// The request for an eighth of the keys; nil if it is for one.
    var smaller: PageRequest? {
        guard range.limit > 1 else { return nil }
        var request = self
        request.range.limit = max(range.limit / 8, 1)
        return request
    }

    struct Response: ProtobufMessage {
        var header = ResponseHeader()
        var hasMore = false
        var count: Int64 = 0
        fileprivate private(set) var unread: [ProtobufReader] = []

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
            switch field {
            case 1: header = try reader.message()
            case 2: unread.append(try reader.laterElement(KeyValue.self))
            case 3: hasMore = try reader.boolean()
            case 4: count = try reader.integer()
            default: try reader.skip()
            }
        }

        /// The number of keys of the next page: more than before if these are small, because etcd counts all keys after a page with each.
        func nextCount(growingTo size: Int) -> Int64 {
            let count = Int64(unread.count)
            let ownSize = unread.reduce(1) { $0 + Int64($1.unreadCount) }
            return max(count, min(8 * count, count * Int64(size) / ownSize))
        }

        /// The last key; nil if there is none.
        func lastKey() throws(EtcdFailure) -> [UInt8]? {
            try unread.last.map { reader throws(EtcdFailure) in try Self.keyValue(reader).key }
        }

        /// All keys with their values.
        func keyValues() throws(EtcdFailure) -> [KeyValue] {
            try unread.map { reader throws(EtcdFailure) in try Self.keyValue(reader) }
        }

        private static func keyValue(_ reader: ProtobufReader) throws(EtcdFailure) -> KeyValue {
            var reader = reader
            do throws(ProtobufError) {
                return try KeyValue(from: &reader)
            } catch {
                throw EtcdFailure(malformed: error)
            }
        }
    }
}

extension EtcdClient {
    /// Reads all keys of a range at one revision, the newest one, in pages, which become smaller where values are too large for them, and
    /// larger while they are small.
    ///
    /// Begins anew if that revision is compacted meanwhile, or if another cluster answers. Ends with an error if the pages do not go on, or
    /// take more memory than ``EtcdConfiguration/memoryLimit``: a member may never say that it was the last.
    ///
    /// - Parameters:
    ///   - pageTimeout: how long one page may take, and each attempt with a smaller one.
    ///   - receive: called with each page, while the next one is on its way.
    /// - Throws: the failure of a page, that of the last one if there was always a reason to begin anew.
    nonisolated(nonsending) func snapshot(
        from start: [UInt8], to end: [UInt8], keysOnly: Bool = false, pageSize: Int64 = 1_000, pageTimeout: Duration,
        _ receive: (EtcdSnapshot.Page) -> Void = { _ in }
    ) async throws -> EtcdSnapshot {
        let first = PageRequest(range: RangeRequest(key: start, rangeEnd: end, limit: pageSize, keysOnly: keysOnly))
        var restarts = 0
        while true {
            do {
                return try await snapshot(from: first, pageTimeout: pageTimeout, receive)
            } catch let failure as EtcdFailure where (failure.isCompacted || failure.isFutureRevision) && restarts < 3 {
                restarts += 1
            } catch let failure as EtcdFailure where failure.code == nil {
                // Another member may answer as etcd does.
                await leavePreferred()
                throw failure
            }
        }
    }

    private nonisolated(nonsending) func snapshot(
        from first: PageRequest, pageTimeout: Duration, _ receive: (EtcdSnapshot.Page) -> Void
    ) async throws -> EtcdSnapshot {
        var response = try await page(first, timeout: pageTimeout)
        var snapshot = EtcdSnapshot(clusterID: response.header.clusterID, revision: response.header.revision, keyValues: [])
        var memorySize = 0
        func add(_ response: PageRequest.Response) throws(EtcdFailure) {
            let isFirst = snapshot.keyValues.isEmpty
            let page = EtcdSnapshot.Page(
                clusterID: snapshot.clusterID, revision: snapshot.revision, keyValues: try response.keyValues(), isFirst: isFirst,
                keyCount: Int(clamping: response.count))
            memorySize += page.keyValues.reduce(0) { $0 + $1.memorySize }
            guard memorySize <= memoryLimit else {
                let reason = "take more than \(memoryLimit) bytes of memory; choose a longer prefix, or raise EtcdConfiguration.memoryLimit"
                throw EtcdFailure(code: nil, message: "the keys under the prefix \(reason)")
            }
            try snapshot.append(page.keyValues, of: first.range)
            receive(page)
        }
        // Half a megabyte of the 64 that a store allows: far from what one member could not send in time.
        while let request = try first.next(after: response, at: snapshot.revision, growingTo: largestResponse / 128) {
            async let next = page(request, timeout: pageTimeout)
            // Lets the request be sent first: a page is read while etcd makes the next one (etcd.open.10000: 1.7 x otherwise).
            await Task.yield()
            try add(response)
            response = try await next
            // The revision is one of another history then, as one that is compacted.
            guard response.header.clusterID == snapshot.clusterID else {
                throw EtcdFailure(code: 11, message: "required revision has been compacted: another cluster answers")
            }
        }
        try add(response)
        return snapshot
    }

    private nonisolated(nonsending) func page(_ request: PageRequest, timeout: Duration) async throws -> PageRequest.Response {
        var request = request
        while true {
            do {
                let response = try await call(request, isRepeatable: true, deadline: .now + timeout)
                try request.check(response)
                return response
            } catch let error where error.isAnswerTooLarge {
                guard let smaller = request.smaller else { throw error }
                request = smaller
            }
        }
    }
}

extension Error {
    /// Whether an answer has too many bytes, or takes too much memory: a smaller one can be read.
    fileprivate var isAnswerTooLarge: Bool {
        (self as? ConnectionError)?.reason == .responseTooLarge || (self as? EtcdFailure)?.isAnswerTooLarge == true
    }
}
