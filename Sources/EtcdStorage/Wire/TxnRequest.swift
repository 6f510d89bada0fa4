/// Runs operations at one revision, which ones depends on whether all comparisons hold.
struct TxnRequest: EtcdRequest, Hashable {
    /// The comparisons; without any, they hold.
    var compares: [Compare] = []
    /// What is run if all comparisons hold.
    var success: [Operation] = []
    /// What is run otherwise.
    var failure: [Operation] = []

    /// A comparison of a key, or of every key of a range, with a number or a value.
    ///
    /// A key that does not exist, and a range without keys, has 0 for all numbers; a comparison of its value does not hold.
    struct Compare: Sendable, Hashable {
        /// What is compared.
        enum Target: Sendable, Hashable {
            /// The revision in which the key was written last.
            case modRevision(Int64)
            /// The revision in which the key was created last.
            case createRevision(Int64)
            /// The number of times that the key was written since it was created.
            case version(Int64)
            /// The lease with which the key ends.
            case lease(Int64)
            /// The value, in the order of its bytes.
            case value([UInt8])
        }

        /// How what is stored has to relate to the target.
        enum Relation: String, Sendable, Hashable, CaseIterable {
            /// It is the same.
            case equal = "EQUAL"
            /// It is another one.
            case notEqual = "NOT_EQUAL"
            /// It is lower.
            case less = "LESS"
            /// It is higher.
            case greater = "GREATER"
        }

        /// The key, or the first one of a range.
        var key: [UInt8]
        /// The key after the last one of the range; nil for a single key, and a NUL for no end.
        var rangeEnd: [UInt8]?
        /// How what is stored has to relate to the target.
        var relation = Relation.equal
        /// What is compared.
        var target: Target
    }

    /// An operation of a transaction; no key is written twice in one.
    enum Operation: Sendable, Hashable {
        /// Reads keys, as they are after the operations before.
        case range(RangeRequest)
        /// Writes a key.
        case put(PutRequest)
        /// Deletes keys.
        case deleteRange(DeleteRangeRequest)
    }

    var path: String { "/v3/kv/txn" }

    func write(to writer: inout JSONWriter) {
        writer.array("compare", compares) { $0.write(to: &$1) }
        writer.array("success", success) { $0.write(to: &$1) }
        writer.array("failure", failure) { $0.write(to: &$1) }
    }
}

extension TxnRequest.Compare {
    /// Adds the members of the comparison to an object.
    func write(to writer: inout JSONWriter) {
        writer.member("key", base64: key)
        writer.member("range_end", base64: rangeEnd ?? [])
        writer.member("result", relation.rawValue)
        switch target {
        case .modRevision(let revision):
            writer.member("target", "MOD")
            writer.member("mod_revision", revision)
        case .createRevision(let revision):
            writer.member("target", "CREATE")
            writer.member("create_revision", revision)
        case .version(let version):
            writer.member("target", "VERSION")
            writer.member("version", version)
        case .lease(let lease):
            writer.member("target", "LEASE")
            writer.member("lease", lease)
        case .value(let value):
            writer.member("target", "VALUE")
            writer.member("value", base64: value)
        }
    }
}

extension TxnRequest.Operation {
    /// Adds the operation, as a member of an object.
    func write(to writer: inout JSONWriter) {
        switch self {
        case .range(let request): writer.object("request_range", request.write)
        case .put(let request): writer.object("request_put", request.write)
        case .deleteRange(let request): writer.object("request_delete_range", request.write)
        }
    }
}

extension TxnRequest {
    /// Which branch was run, and its answers.
    struct Response: Hashable {
        /// The header, whose revision is that of the writes, if there was one.
        var header = ResponseHeader()
        /// Whether the comparisons held.
        var succeeded = false
        /// The answers to the operations, in their order.
        var results: [Result] = []
    }

    /// The answer to an operation.
    enum Result: Sendable, Hashable {
        /// The keys that were read.
        case range(RangeRequest.Response)
        /// A key was written.
        case put(PutRequest.Response)
        /// The number of keys that were deleted.
        case deleteRange(DeleteRangeRequest.Response)
    }
}

extension TxnRequest.Response: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "succeeded": succeeded = try scanner.boolean()
        case "responses": results = try scanner.array()
        default: try scanner.skip()
        }
    }
}

extension TxnRequest.Result: JSONReadable {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        let start = scanner.offset
        var result: TxnRequest.Result?
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            switch name {
            case "response_range": result = .range(try RangeRequest.Response(from: &scanner))
            case "response_put": result = .put(try PutRequest.Response(from: &scanner))
            case "response_delete_range": result = .deleteRange(try DeleteRangeRequest.Response(from: &scanner))
            default: try scanner.skip()
            }
        }
        guard let result else { throw JSONError(offset: start, reason: "the answer to an operation was expected") }
        self = result
    }
}
