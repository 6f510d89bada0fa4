/// Creates a lease, with which keys end unless it is kept alive.
struct LeaseGrantRequest: EtcdRequest, Hashable {
    /// The time to live, in seconds.
    var timeToLive: Int64

    typealias Response = LeaseResponse

    var path: String { "/v3/lease/grant" }

    func write(to writer: inout JSONWriter) {
        writer.member("TTL", timeToLive)
    }
}

/// Renews a lease for its time to live.
struct LeaseKeepAliveRequest: EtcdRequest, Hashable {
    /// The lease.
    var lease: Int64

    typealias Response = LeaseResponse

    var path: String { "/v3/lease/keepalive" }

    func write(to writer: inout JSONWriter) {
        writer.member("ID", lease)
    }

    /// Reads the answer, which is a stream of one message.
    ///
    /// - Throws: ``EtcdFailure``, that of a lease which was not found if it has expired.
    static func response(httpStatus: Int, body: [UInt8]) throws(EtcdFailure) -> LeaseResponse {
        guard httpStatus == 200 else { throw EtcdFailure(httpStatus: httpStatus, body: body) }
        var lines = LineSplitter()
        guard let line = lines.append(body).first ?? lines.finish() else {
            throw EtcdFailure(malformed: JSONError(offset: 0, reason: "a line was expected"), httpStatus: httpStatus)
        }
        switch try StreamMessage<LeaseResponse>(line: line) {
        case .result(let response) where response.timeToLive > 0: return response
        case .result: throw EtcdFailure(code: 5, message: "etcdserver: requested lease not found", httpStatus: httpStatus)
        case .failure(let failure): throw failure
        }
    }
}

/// Ends a lease, and deletes its keys.
struct LeaseRevokeRequest: EtcdRequest, Hashable {
    /// The lease.
    var lease: Int64

    typealias Response = HeaderResponse

    var path: String { "/v3/lease/revoke" }

    func write(to writer: inout JSONWriter) {
        writer.member("ID", lease)
    }
}

/// A lease as it was granted or renewed.
struct LeaseResponse: Sendable, Hashable {
    /// The header.
    var header = ResponseHeader()
    /// The lease.
    var lease: Int64 = 0
    /// The time to live, in seconds: at least what was asked for.
    var timeToLive: Int64 = 0
}

extension LeaseResponse: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "ID": lease = try scanner.integer()
        case "TTL": timeToLive = try scanner.integer()
        default: try scanner.skip()
        }
    }
}
