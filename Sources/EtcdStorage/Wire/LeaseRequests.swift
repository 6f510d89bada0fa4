/// Grants a lease, whose keys are deleted when it expires.
struct LeaseGrantRequest: EtcdRequest, Hashable {
    /// The time to live, in seconds.
    var timeToLive: Int64

    typealias Response = LeaseResponse

    static let path = "/etcdserverpb.Lease/LeaseGrant"

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, timeToLive)
    }
}

/// Renews a lease for its time to live.
struct LeaseKeepAliveRequest: EtcdRequest, Hashable {
    var lease: Int64

    typealias Response = LeaseResponse

    static let path = "/etcdserverpb.Lease/LeaseKeepAlive"

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, lease)
    }

    /// Reads the response, the first message of a stream.
    ///
    /// - Throws: ``EtcdFailure``; if the lease has expired, the one for a lease that was not found.
    static func response(from message: [UInt8]) throws(EtcdFailure) -> LeaseResponse {
        let response = try LeaseResponse(message: message)
        guard response.timeToLive > 0 else { throw EtcdFailure(code: 5, message: "etcdserver: requested lease not found") }
        return response
    }
}

/// Revokes a lease, and deletes its keys.
struct LeaseRevokeRequest: EtcdRequest, Hashable {
    var lease: Int64

    typealias Response = HeaderResponse

    static let path = "/etcdserverpb.Lease/LeaseRevoke"

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, lease)
    }
}

/// A lease as it was granted or renewed.
struct LeaseResponse: ProtobufMessage, Hashable {
    var header = ResponseHeader()
    var lease: Int64 = 0
    /// The time to live in seconds, at least the requested one.
    var timeToLive: Int64 = 0

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: header = try reader.message()
        case 2: lease = try reader.integer()
        case 3: timeToLive = try reader.integer()
        default: try reader.skip()
        }
    }
}
