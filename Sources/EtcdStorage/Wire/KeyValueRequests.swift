/// Reads one key, or the keys from one up to another.
struct RangeRequest: EtcdRequest, Hashable {
    /// The key, or the first one of a range.
    var key: [UInt8]
    /// The key after the last one of the range; nil for a single key, and a NUL for no end.
    var rangeEnd: [UInt8]?
    /// The revision to be read; 0 for the newest.
    var revision: Int64 = 0
    /// The number of keys to be read at most; 0 for all.
    var limit: Int64 = 0
    /// Whether the values are left out.
    var keysOnly = false
    /// Whether only the number of keys is wanted.
    var countOnly = false
    /// Whether the member may answer by itself, from what it knows, which may be old.
    var isSerializable = false
    /// The lowest ``KeyValue/modRevision`` of the keys to be read; 0 for no limit.
    var minModRevision: Int64 = 0

    static var isRead: Bool { true }

    var path: String { "/v3/kv/range" }

    /// Adds the members of the request to an object, which may be an operation of a transaction.
    func write(to writer: inout JSONWriter) {
        writer.member("key", base64: key)
        writer.member("range_end", base64: rangeEnd ?? [])
        writer.member("limit", limit)
        writer.member("revision", revision)
        writer.member("keys_only", keysOnly)
        writer.member("count_only", countOnly)
        writer.member("serializable", isSerializable)
        writer.member("min_mod_revision", minModRevision)
    }

    /// The keys that were read.
    struct Response: Hashable {
        /// The header, whose revision is the newest one, not the one that was asked for.
        var header = ResponseHeader()
        /// The keys in the order of their bytes.
        var keyValues: [KeyValue] = []
        /// Whether there are more keys than the limit.
        var hasMore = false
        /// The number of keys in the range, whatever the limit.
        var count: Int64 = 0
    }
}

extension RangeRequest.Response: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "kvs": keyValues = try scanner.array()
        case "more": hasMore = try scanner.boolean()
        case "count": count = try scanner.integer()
        default: try scanner.skip()
        }
    }
}

/// Writes one key.
struct PutRequest: EtcdRequest, Hashable {
    /// The key.
    var key: [UInt8]
    /// The new value.
    var value: [UInt8]
    /// The lease with which the key ends; 0 for none.
    var lease: Int64 = 0

    typealias Response = HeaderResponse

    var path: String { "/v3/kv/put" }

    /// Adds the members of the request to an object, which may be an operation of a transaction.
    func write(to writer: inout JSONWriter) {
        writer.member("key", base64: key)
        writer.member("value", base64: value)
        writer.member("lease", lease)
    }
}

/// Deletes one key, or the keys from one up to another.
struct DeleteRangeRequest: EtcdRequest, Hashable {
    /// The key, or the first one of a range.
    var key: [UInt8]
    /// The key after the last one of the range; nil for a single key, and a NUL for no end.
    var rangeEnd: [UInt8]?

    var path: String { "/v3/kv/deleterange" }

    /// Adds the members of the request to an object, which may be an operation of a transaction.
    func write(to writer: inout JSONWriter) {
        writer.member("key", base64: key)
        writer.member("range_end", base64: rangeEnd ?? [])
    }

    /// How much was deleted.
    struct Response: Hashable {
        /// The header.
        var header = ResponseHeader()
        /// The number of keys that were deleted.
        var deleted: Int64 = 0
    }
}

extension DeleteRangeRequest.Response: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "deleted": deleted = try scanner.integer()
        default: try scanner.skip()
        }
    }
}

/// Forgets the history before a revision.
struct CompactionRequest: EtcdRequest, Hashable {
    /// The oldest revision that is kept.
    var revision: Int64

    typealias Response = HeaderResponse

    var path: String { "/v3/kv/compaction" }

    func write(to writer: inout JSONWriter) {
        writer.member("revision", revision)
    }
}
