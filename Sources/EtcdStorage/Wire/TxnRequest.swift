/// Runs one of two lists of operations at one revision, depending on whether all comparisons hold.
struct TxnRequest: EtcdRequest, Hashable {
    /// The comparisons; an empty list holds.
    var compares: [Compare] = []
    /// The operations if all comparisons hold.
    var success: [Operation] = []
    /// The operations otherwise.
    var failure: [Operation] = []

    /// A comparison of a revision of a key, or of every key of a range. Both revisions of a missing key, or of an empty range, are 0.
    struct Compare: Sendable, Hashable {
        /// The revision to compare, and the number to compare it with.
        enum Target: Sendable, Hashable {
            /// The revision in which the key was last written.
            case modRevision(Int64)
            /// The revision in which the key was last created.
            case createRevision(Int64)
        }

        /// The relation of the stored revision to the target.
        enum Relation: Int, Sendable, Hashable, CaseIterable {
            case equal = 0
            case greater = 1
            case less = 2
            case notEqual = 3
        }

        /// The key, or the first one of a range.
        var key: [UInt8]
        /// The key after the last one of the range; nil for a single key, and a NUL for no end.
        var rangeEnd: [UInt8]?
        /// The relation of the stored revision to the target.
        var relation = Relation.equal
        /// The revision to compare, and the number to compare it with.
        var target: Target

        func write(to writer: inout ProtobufWriter) {
            let (field, number) =
                switch target {
                case .createRevision(let number): (5, number)
                case .modRevision(let number): (6, number)
                }
            writer.field(1, relation.rawValue)
            // The number of the property in etcd's enumeration.
            writer.field(2, field - 4)
            writer.field(3, key)
            writer.oneofField(field, number)
            writer.field(64, rangeEnd ?? [])
        }
    }

    /// An operation of a transaction, which must not write a key twice.
    enum Operation: Sendable, Hashable {
        /// Reads keys, after the preceding operations.
        case range(RangeRequest)
        /// Writes a key.
        case put(PutRequest)
        /// Deletes keys.
        case deleteRange(DeleteRangeRequest)

        /// Writes the operation, a member of a `oneof`.
        func write(to writer: inout ProtobufWriter) {
            switch self {
            case .range(let request): writer.message(1, request.write)
            case .put(let request): writer.message(2, request.write)
            case .deleteRange(let request): writer.message(3, request.write)
            }
        }
    }

    static let path = "/etcdserverpb.KV/Txn"

    func write(to writer: inout ProtobufWriter) {
        for compare in compares { writer.message(1, compare.write) }
        for operation in success { writer.message(2, operation.write) }
        for operation in failure { writer.message(3, operation.write) }
    }

    /// Which list was run, and the results.
    struct Response: ProtobufMessage, Hashable {
        /// The header, whose revision is that of the writes if there are any.
        var header = ResponseHeader()
        /// Whether the comparisons held.
        var succeeded = false
        /// The results of the operations, in order.
        var results: [Result] = []

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
            switch field {
            case 1: header = try reader.message()
            case 2: succeeded = try reader.boolean()
            case 3: results.append(try reader.element())
            default: try reader.skip()
            }
        }
    }

    /// The result of an operation.
    enum Result: ProtobufReadable, Hashable {
        /// The keys that were read.
        case range(RangeRequest.Response)
        /// A key was written.
        case put(PutRequest.Response)
        /// The number of keys that were deleted.
        case deleteRange(DeleteRangeRequest.Response)

        init(from reader: inout ProtobufReader) throws(ProtobufError) {
            let start = reader.offset
            var result: TxnRequest.Result?
            while let field = try reader.nextField() {
                switch field {
                case 1: result = .range(try reader.message())
                case 2: result = .put(try reader.message())
                case 3: result = .deleteRange(try reader.message())
                default: try reader.skip()
                }
            }
            guard let result else { throw ProtobufError(offset: start, reason: "the result of an operation was expected") }
            self = result
        }
    }
}
