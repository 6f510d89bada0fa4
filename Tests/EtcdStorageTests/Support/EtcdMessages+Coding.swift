import Testing

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
        writer.field(5, value)
    }
}

/// The number of writes since a key was created, and its lease, 0 if there is none.
struct KeyDetails: ProtobufMessage {
    var version: Int64 = 0
    var lease: Int64 = 0

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 4: version = try reader.integer()
        case 6: lease = try reader.integer()
        default: try reader.skip()
        }
    }
}

extension RangeRequest.Response: MemberMessage {
    init(header: ResponseHeader = ResponseHeader(), keyValues: [KeyValue], hasMore: Bool = false, count: Int64 = 0) {
        self.init(header: header, unread: keyValues.map { ProtobufReader($0.message) }, hasMore: hasMore, count: count)
    }

    var keyValues: [KeyValue] {
        get throws(EtcdFailure) { try decoded() }
    }

    /// What the library does not read of the first key.
    var details: KeyDetails? {
        get throws(EtcdFailure) { try unread.first.map { reader throws(EtcdFailure) in try KeyDetails(unread: reader) } }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        do {
            for keyValue in try keyValues { writer.message(2, keyValue.write) }
        } catch {
            Issue.record(error)
        }
        writer.field(3, hasMore)
        writer.field(4, count)
    }
}

extension TxnRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, succeeded)
        for range in ranges {
            writer.message(3) { result in
                if let range { result.message(1, RangeRequest.Response(keyValues: range).write) } else { result.message(2) { _ in } }
            }
        }
    }
}

extension LeaseRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
        writer.field(2, lease)
        writer.field(3, timeToLive)
    }
}

extension AuthenticateRequest.Response: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.field(2, token)
    }
}

extension WatchResponse: MemberMessage {
    func write(to writer: inout ProtobufWriter) {
        writer.message(1, header.write)
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
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: compares.append(try reader.message())
        case 2: success.append(try operation(from: &reader))
        case 3: failure.append(try operation(from: &reader))
        default: try reader.skip()
        }
    }

    private func operation(from reader: inout ProtobufReader) throws(EtcdFailure) -> Operation {
        let offset = reader.offset
        guard let operation = try reader.message(as: AnyOperation.self).operation else {
            throw EtcdFailure(unreadable: "an operation was expected", at: offset)
        }
        return operation
    }

    private struct AnyOperation: ProtobufMessage {
        var operation: Operation?

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
            switch field {
            case 1: operation = .range(try reader.message())
            case 2:
                let put = try reader.message(as: PutRequest.self)
                operation = .put(key: put.key, value: put.value, lease: put.lease)
            case 3: operation = .delete(key: try reader.message(as: DeleteRangeRequest.self).key)
            default: try reader.skip()
            }
        }
    }
}

extension TxnRequest.Compare: ProtobufMessage {
    init() {
        self.init(key: [], modRevision: 0)
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: isLess = try reader.integer() == 2
        case 3: key = try reader.byteArray()
        case 6: modRevision = try reader.integer()
        case 64: rangeEnd = try reader.byteArray()
        default: try reader.skip()
        }
    }
}

extension RangeRequest: ProtobufMessage {
    init() {
        self.init(key: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        case 3: limit = try reader.integer()
        case 4: revision = try reader.integer()
        case 8: keysOnly = try reader.boolean()
        case 10: minModRevision = try reader.integer()
        default: try reader.skip()
        }
    }
}

extension WatchRequest: ProtobufMessage {
    init() {
        self.init(key: [])
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: key = try reader.byteArray()
        case 2: rangeEnd = try reader.byteArray()
        case 3: startRevision = try reader.integer()
        case 6: includesPrevious = try reader.boolean()
        default: try reader.skip()
        }
    }
}

/// A message of a client on the stream of watches.
struct WatchMessage: ProtobufMessage {
    /// The watch to begin; nil for another message.
    var create: WatchRequest?

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        if field == 1 { create = try reader.message() } else { try reader.skip() }
    }
}
