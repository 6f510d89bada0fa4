/// Reads one key, or a range of keys.
struct RangeRequest: EtcdRequest, Hashable {
    /// The key, or the first one of a range.
    var key: [UInt8]
    /// The key after the last one of the range; empty for a single key, and a NUL for no end.
    var rangeEnd: [UInt8] = []
    /// The revision to read; 0 for the newest.
    var revision: Int64 = 0
    /// The maximum number of keys; 0 for all.
    var limit: Int64 = 0
    var keysOnly = false
    /// The lowest ``KeyValue/modRevision`` of the keys to read; 0 for no limit.
    var minModRevision: Int64 = 0

    var isRead: Bool { true }

    var path: String { "/etcdserverpb.KV/Range" }

    static func header(of response: Response) -> ResponseHeader? { response.header }

    /// Writes the fields of the request, which may be an operation of a transaction.
    func write(to writer: inout ProtobufWriter) {
        writer.field(1, key)
        writer.field(2, rangeEnd)
        writer.field(3, limit)
        writer.field(4, revision)
        writer.field(8, keysOnly)
        writer.field(10, minModRevision)
    }

    /// The keys that were read. They are decoded later, so that the next ones can be requested before.
    struct Response: ProtobufMessage {
        /// The header, whose revision is the newest one, not the requested one.
        var header = ResponseHeader()
        /// The keys with their values, before they are decoded.
        var unread: [ProtobufReader] = []
        var hasMore = false
        /// The number of keys in the range, regardless of the limit.
        var count: Int64 = 0

        /// The keys in the order of their bytes.
        func decoded() throws(EtcdFailure) -> [KeyValue] {
            try unread.map { reader throws(EtcdFailure) in try KeyValue(unread: reader) }
        }

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            switch field {
            case 1: header = try reader.message()
            case 2: unread.append(try reader.laterElement(KeyValue.self))
            case 3: hasMore = try reader.boolean()
            case 4: count = try reader.integer()
            default: try reader.skip()
            }
        }
    }
}
