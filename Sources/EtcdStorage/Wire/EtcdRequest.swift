/// A request to etcd: a call of gRPC with one message, and how its answer is read.
protocol EtcdRequest: Sendable {
    /// What etcd answers.
    associatedtype Response: ProtobufMessage

    /// The path of the call: a slash, the service, a slash, and the method.
    static var path: String { get }

    /// Adds the fields of the message.
    func write(to writer: inout ProtobufWriter)

    /// Whether the request changes nothing, so that it makes no difference whether it arrives: false unless the request implements it.
    static var isRead: Bool { get }

    /// Reads the message of an answer.
    ///
    /// - Throws: ``EtcdFailure`` if it cannot be read, or tells a failure by itself.
    static func response(from message: [UInt8]) throws(EtcdFailure) -> Response
}

extension EtcdRequest {
    static var isRead: Bool { false }

    /// The message in protobuf.
    var message: [UInt8] {
        var writer = ProtobufWriter()
        write(to: &writer)
        return writer.bytes
    }

    static func response(from message: [UInt8]) throws(EtcdFailure) -> Response {
        try Response(message: message)
    }
}

/// What every answer tells about the member that gave it.
struct ResponseHeader: Sendable, Hashable {
    /// The cluster, by which another one at the same address is noticed.
    var clusterID: UInt64 = 0
    /// The member of the cluster.
    var memberID: UInt64 = 0
    /// The revision of the key-value store when the request was applied.
    var revision: Int64 = 0
    /// The term of the election in which the member answered.
    var raftTerm: UInt64 = 0
}

extension ResponseHeader: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: clusterID = try reader.integer()
        case 2: memberID = try reader.integer()
        case 3: revision = try reader.integer()
        case 4: raftTerm = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// A key with its value and its history.
struct KeyValue: Sendable, Hashable {
    /// The bytes of the key.
    var key: [UInt8] = []
    /// The bytes of the value.
    var value: [UInt8] = []
    /// The revision in which the key was created last.
    var createRevision: Int64 = 0
    /// The revision in which the key was written last; in an event, in which it was written or deleted.
    var modRevision: Int64 = 0
    /// The number of times that the key was written since it was created.
    var version: Int64 = 0
    /// The lease with which the key ends; 0 if there is none.
    var lease: Int64 = 0

    /// The number of bytes of memory that it takes.
    var memorySize: Int { MemoryLayout<Self>.stride + key.memorySize + value.memorySize }
}

extension KeyValue: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: createRevision = try reader.integer()
        case 3: modRevision = try reader.integer()
        case 4: version = try reader.integer()
        case 5: value = try reader.byteArray()
        case 6: lease = try reader.integer()
        default: try reader.skip()
        }
    }
}

/// An answer of which only the header is of use.
struct HeaderResponse: Sendable, Hashable {
    /// The header.
    var header = ResponseHeader()
}

extension HeaderResponse: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        if field == 1 { header = try reader.message() } else { try reader.skip() }
    }
}
