/// A request to etcd: a unary gRPC call, and how its response is read.
protocol EtcdRequest: Sendable {
    associatedtype Response: ProtobufMessage

    /// The path of the call: a slash, the service, a slash, and the method.
    var path: String { get }

    func write(to writer: inout ProtobufWriter)

    /// Whether the request changes nothing that is stored, so that it does not matter whether it arrives. False by default.
    var isRead: Bool { get }

    /// The header of a response; nil, the default, if it is not needed.
    static func header(of response: Response) -> ResponseHeader?
}

extension EtcdRequest {
    var isRead: Bool { false }

    static func header(of response: Response) -> ResponseHeader? { nil }

    var message: [UInt8] {
        var writer = ProtobufWriter()
        write(to: &writer)
        return writer.bytes
    }
}

struct ResponseHeader: ProtobufMessage, Hashable {
    /// The cluster, by which another one at the same address is detected.
    var clusterID: UInt64 = 0
    /// The revision of the key-value store when the request was applied.
    var revision: Int64 = 0

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: clusterID = try reader.integer()
        case 3: revision = try reader.revision()
        default: try reader.skip()
        }
    }
}

struct KeyValue: ProtobufMessage, Hashable {
    var key: [UInt8] = []
    var value: [UInt8] = []
    /// The revision in which the key was last created.
    var createRevision: Int64 = 0
    /// The revision in which the key was last written; in an event, in which it was written or deleted.
    var modRevision: Int64 = 0

    /// The memory that it takes in bytes.
    var memorySize: Int { MemoryLayout<Self>.stride + key.memorySize + value.memorySize }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: createRevision = try reader.revision()
        case 3: modRevision = try reader.revision()
        case 5: value = try reader.byteArray()
        default: try reader.skip()
        }
    }
}

// MARK: - Authentication

/// The request that exchanges a name and a password for a token.
extension EtcdConfiguration.Credentials: EtcdRequest {
    var path: String { "/etcdserverpb.Auth/Authenticate" }

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, user)
        writer.field(2, password)
    }

    /// A token, which expires if it is not used for some time.
    struct Response: ProtobufMessage, Hashable {
        /// The token, the complete value of the field `Authorization`.
        var token = ""

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            if field == 2 { token = try reader.string() } else { try reader.skip() }
        }
    }
}

// The token is not printed.
extension EtcdConfiguration.Credentials.Response: CustomStringConvertible, CustomReflectable {
    var description: String { "a token" }

    var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
