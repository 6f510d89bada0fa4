@testable import EtcdStorage

// Requests and failures of etcd that only tests need.

/// A response of which only the header is used.
struct HeaderResponse: ProtobufMessage, Hashable {
    var header = ResponseHeader()

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        if field == 1 { header = try reader.message() } else { try reader.skip() }
    }
}

typealias AuthenticateRequest = EtcdConfiguration.Credentials

/// Writes one key.
struct PutRequest: EtcdRequest, Hashable {
    var key: [UInt8] = []
    var value: [UInt8] = []
    /// The lease of the key; 0 for none.
    var lease: Int64 = 0

    typealias Response = HeaderResponse

    var path: String { "/etcdserverpb.KV/Put" }

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, key)
        writer.field(2, value)
        writer.field(3, lease)
    }
}

extension PutRequest: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: value = try reader.byteArray()
        case 3: lease = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// Deletes one key, or a range of keys.
struct DeleteRangeRequest: EtcdRequest, Hashable {
    var key: [UInt8] = []
    var rangeEnd: [UInt8] = []

    typealias Response = HeaderResponse

    var path: String { "/etcdserverpb.KV/DeleteRange" }

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, key)
        writer.field(2, rangeEnd)
    }
}

extension DeleteRangeRequest: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        default: try reader.skip()
        }
    }
}

/// Compacts the history before a revision.
struct CompactionRequest: EtcdRequest, Hashable {
    /// The oldest revision to keep.
    var revision: Int64

    typealias Response = HeaderResponse

    var path: String { "/etcdserverpb.KV/Compact" }

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, revision)
    }
}

/// Reads the status of a member.
struct StatusRequest: EtcdRequest, Hashable {
    var path: String { "/etcdserverpb.Maintenance/Status" }

    func write(to writer: inout ProtobufWriter) {}

    /// The status of a member.
    struct Response: Hashable {
        /// The header.
        var header = ResponseHeader()
        /// The version of the member, such as 3.4.23.
        var version = ""
        /// The leader of the cluster; 0 if there is none at present.
        var leader: UInt64 = 0
    }
}

extension StatusRequest.Response: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: header = try reader.message()
        case 2: version = try reader.string()
        case 4: leader = try reader.integer()
        default: try reader.skip()
        }
    }
}

extension EtcdFailure {
    /// The name or the password is wrong.
    var isAuthenticationFailed: Bool { message.contains("authentication failed") }

    /// The database has reached its size limit: nothing can be written until an administrator frees space.
    var isSpaceExceeded: Bool { code == 8 && message.contains("database space exceeded") }
}
