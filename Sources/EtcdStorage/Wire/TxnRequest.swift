/// Runs one of two lists of operations at one revision, depending on whether all comparisons hold.
struct TxnRequest: EtcdRequest, Hashable {
    /// The comparisons; an empty list holds.
    var compares: [Compare] = []
    /// The operations if all comparisons hold.
    var success: [Operation] = []
    /// The operations otherwise.
    var failure: [Operation] = []

    /// A comparison of the revision in which a key, or every key of a range, was last written: 0 for a missing key or an empty range.
    struct Compare: Sendable, Hashable {
        /// The key, or the first one of a range.
        var key: [UInt8]
        /// The key after the last one of the range; empty for a single key, and a NUL for no end.
        var rangeEnd: [UInt8] = []
        /// Whether the stored revision has to be less than the other one, instead of equal to it.
        var isLess = false
        var modRevision: Int64

        func write(to writer: inout ProtobufWriter) {
            // The numbers of etcd's enumerations: LESS, or EQUAL, and MOD.
            writer.field(1, isLess ? 2 : 0)
            writer.field(2, 2)
            writer.field(3, key)
            writer.oneofField(6, modRevision)
            writer.field(64, rangeEnd)
        }
    }

    /// An operation of a transaction, which must not write a key twice.
    enum Operation: Sendable, Hashable {
        /// Reads keys, after the preceding operations.
        case range(RangeRequest)
        /// Writes a key, with a lease unless it is 0.
        case put(key: [UInt8], value: [UInt8], lease: Int64 = 0)
        case delete(key: [UInt8])

        /// Writes the operation, a member of a `oneof`.
        func write(to writer: inout ProtobufWriter) {
            switch self {
            case .range(let request): writer.message(1, request.write)
            case .put(let key, let value, let lease):
                writer.message(2) {
                    $0.field(1, key)
                    $0.field(2, value)
                    $0.field(3, lease)
                }
            case .delete(let key): writer.message(3) { $0.field(1, key) }
            }
        }
    }

    var path: String { "/etcdserverpb.KV/Txn" }

    static func header(of response: Response) -> ResponseHeader? { response.header }

    func write(to writer: inout ProtobufWriter) {
        for compare in compares { writer.message(1, compare.write) }
        for operation in success { writer.message(2, operation.write) }
        for operation in failure { writer.message(3, operation.write) }
    }

    struct Response: ProtobufMessage, Hashable {
        /// The header, whose revision is that of the writes if there are any.
        var header = ResponseHeader()
        var succeeded = false
        /// The keys that each operation has read; nil for an operation that writes.
        var ranges: [[KeyValue]?] = []

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            switch field {
            case 1: header = try reader.message()
            case 2: succeeded = try reader.boolean()
            case 3:
                let start = reader.offset
                let result = try reader.element(as: Result.self)
                guard result.isKnown else { throw EtcdFailure(unreadable: "the result of an operation was expected", at: start) }
                ranges.append(result.range)
            default: try reader.skip()
            }
        }
    }

    private struct Result: ProtobufMessage {
        var range: [KeyValue]?
        var isKnown = false

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            isKnown = isKnown || 1...3 ~= field
            if field == 1 { range = try reader.message(as: RangeRequest.Response.self).decoded() } else { try reader.skip() }
        }
    }
}
