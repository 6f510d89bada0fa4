@testable import EtcdStorage

// The coding that only members need: responses are written, and requests are read.

/// A message that a member sends.
protocol MemberMessage: Sendable {
    /// Writes the fields of the message.
    func write(to writer: inout ProtobufWriter)
}

extension MemberMessage {
    /// The encoded message.
    var message: [UInt8] {
        var writer = ProtobufWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension ResponseHeader: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.field(1, clusterID)
        writer.field(2, memberID)
        writer.field(3, revision)
    }
}

extension HeaderResponse: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
    }
}

extension KeyValue: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.field(1, key)
        writer.field(2, createRevision)
        writer.field(3, modRevision)
        writer.field(4, version)
        writer.field(5, value)
        writer.field(6, lease)
    }
}

extension RangeRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        for keyValue in keyValues { writer.message(2, keyValue.write) }
        writer.field(3, hasMore)
        writer.field(4, count)
    }
}

extension DeleteRangeRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, deleted)
    }
}

extension TxnRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, succeeded)
        for result in results { writer.message(3, result.write) }
    }
}

extension TxnRequest.Result: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        switch self {
        case .range(let response): writer.message(1, response.write)
        case .put(let response): writer.message(2, response.write)
        case .deleteRange(let response): writer.message(3, response.write)
        }
    }
}

extension LeaseResponse: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, lease)
        writer.field(3, timeToLive)
    }
}

extension AuthenticateRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, token)
    }
}

extension WatchResponse: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, watchID)
        writer.field(3, isCreated)
        writer.field(4, isCanceled)
        writer.field(5, compactRevision)
        writer.field(6, cancelReason)
        writer.field(7, isFragment)
        for event in events { writer.message(11, event.write) }
    }
}

extension WatchEvent: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.field(1, isDelete)
        writer.message(2, keyValue.write)
        if let previous { writer.message(3, previous.write) }
    }
}

// MARK: - Requests

extension TxnRequest: ProtobufMessage {
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: compares.append(try reader.message())
        case 2: success.append(try reader.message())
        case 3: failure.append(try reader.message())
        default: try reader.skip()
        }
    }
}

extension TxnRequest.Compare: ProtobufMessage {
    init() {
        self.init(key: [], target: .modRevision(0))
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: relation = Relation(rawValue: try reader.integer()) ?? .equal
        case 3: key = try reader.byteArray()
        case 5: target = .createRevision(try reader.integer())
        case 6: target = .modRevision(try reader.integer())
        case 64: rangeEnd = try reader.byteArray()
        default: try reader.skip()
        }
    }
}

extension TxnRequest.Operation: ProtobufReadable {
    init(from reader: inout ProtobufReader) throws(ProtobufError) {
        let start = reader.offset
        var operation: TxnRequest.Operation?
        while let field = try reader.nextField() {
            switch field {
            case 1: operation = .range(try reader.message())
            case 2: operation = .put(try reader.message())
            case 3: operation = .deleteRange(try reader.message())
            default: try reader.skip()
            }
        }
        guard let operation else { throw ProtobufError(offset: start, reason: "an operation was expected") }
        self = operation
    }
}

extension RangeRequest: ProtobufMessage {
    init() {
        self.init(key: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        case 3: limit = try reader.integer()
        case 4: revision = try reader.integer()
        case 8: keysOnly = try reader.boolean()
        case 9: countOnly = try reader.boolean()
        case 10: minModRevision = try reader.integer()
        default: try reader.skip()
        }
    }
}

extension PutRequest: ProtobufMessage {
    init() {
        self.init(key: [], value: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: value = try reader.byteArray()
        case 3: lease = try reader.integer()
        default: try reader.skip()
        }
    }
}

extension DeleteRangeRequest: ProtobufMessage {
    init() {
        self.init(key: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        default: try reader.skip()
        }
    }
}

extension WatchRequest.Create: ProtobufMessage {
    init() {
        self.init(key: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        case 3: startRevision = try reader.integer()
        case 4: notifiesProgress = try reader.boolean()
        case 6: includesPrevious = try reader.boolean()
        case 8: allowsFragments = try reader.boolean()
        default: try reader.skip()
        }
    }
}

extension WatchRequest: ProtobufReadable {
    init(from reader: inout ProtobufReader) throws(ProtobufError) {
        let start = reader.offset
        var request: WatchRequest?
        while let field = try reader.nextField() {
            switch field {
            case 1: request = .create(try reader.message())
            case 3:
                try reader.skip()
                request = .progress
            default: try reader.skip()
            }
        }
        guard let request else { throw ProtobufError(offset: start, reason: "a request of a watch was expected") }
        self = request
    }
}
