/// Grants, renews or revokes a lease, whose keys are deleted when it expires.
enum LeaseRequest: EtcdRequest, Hashable {
    /// Grants a lease with a time to live in seconds.
    case grant(timeToLive: Int64)
    case keepAlive(Int64)
    case revoke(Int64)

    var path: String {
        switch self {
        case .grant: "/etcdserverpb.Lease/LeaseGrant"
        case .keepAlive: "/etcdserverpb.Lease/LeaseKeepAlive"
        case .revoke: "/etcdserverpb.Lease/LeaseRevoke"
        }
    }

    /// True for a new lease, which has no effect without keys.
    var isRead: Bool { if case .grant = self { true } else { false } }

    static func header(of response: Response) -> ResponseHeader? { response.header }

    func write(to writer: inout ProtobufWriter) {
        switch self {
        case .grant(let number), .keepAlive(let number), .revoke(let number): writer.field(1, number)
        }
    }

    /// A lease as it was granted or renewed; only the header if it was revoked.
    struct Response: ProtobufMessage, Hashable {
        /// The header, whose revision includes the deletion of the keys.
        var header = ResponseHeader()
        var lease: Int64 = 0
        /// The time to live in seconds, at least the requested one; 0 if the lease has expired before it was renewed.
        var timeToLive: Int64 = 0

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            switch field {
            case 1: header = try reader.message()
            case 2: lease = try reader.integer()
            case 3: timeToLive = try reader.integer()
            default: try reader.skip()
            }
        }
    }
}
