/// The encoding of a field's value, which determines its size.
enum ProtobufWireType: UInt8, Sendable, Hashable {
    /// An integer with seven bits in each byte, the lowest first.
    case varint = 0
    case fixed64 = 1
    /// A varint with the number of bytes, followed by the bytes.
    case lengthDelimited = 2
    case fixed32 = 5
}

/// Reads a protobuf message sequentially, one field at each call.
///
/// The caller reads the value of each field as the expected type, or skips it. Takes linear time for any bytes, and no memory for skipped
/// fields. Messages are nested only as deep as the types that are read; groups, which could nest without limit, are an error. Errors have the
/// offset of the first invalid byte.
///
/// An element of two bytes takes a hundred in memory. So values count with their size in memory, which is limited by ``memoryLimit``.
struct ProtobufReader: Sendable {
    /// The maximum memory for all values of a message in bytes, the same as the maximum size of the message.
    static let memoryLimit = 64 << 20

    /// The offset of the next byte to read.
    private(set) var offset = 0
    private let bytes: [UInt8]
    // The end of the message that is being read, which may be nested in another one.
    private var end: Int
    // The field whose value is read next.
    private var field = (offset: 0, number: 0, wireType: ProtobufWireType.varint)
    // The remaining memory for values that have not been read, in bytes.
    private var memory = Self.memoryLimit

    init(_ bytes: [UInt8]) {
        (self.bytes, end) = (bytes, bytes.count)
    }

    /// Moves to the value of the next field, and returns the field's number; nil at the end of the message.
    mutating func nextField() throws(EtcdFailure) -> Int? {
        guard offset < end else { return nil }
        let start = offset
        let tag = try varint()
        guard 1..<(1 << 29) ~= tag >> 3 else { throw EtcdFailure(unreadable: "a field's number is out of range", at: start) }
        guard let wireType = ProtobufWireType(rawValue: UInt8(tag & 7)) else {
            throw EtcdFailure(unreadable: "a field has the wire type \(tag & 7), which is not supported", at: start)
        }
        field = (start, Int(tag >> 3), wireType)
        return field.number
    }

    var unreadCount: Int { end - offset }

    // MARK: - Values

    /// Reads an integer, or the number of an enumeration's case. Bits that its type does not have are dropped.
    mutating func integer<Number: FixedWidthInteger>(as type: Number.Type = Number.self) throws(EtcdFailure) -> Number {
        try expect(.varint)
        return Number(truncatingIfNeeded: try varint())
    }

    /// Reads a revision, to which one can be added; 0 if there is none.
    mutating func revision() throws(EtcdFailure) -> Int64 {
        let revision: Int64 = try integer()
        guard 0..<Int64.max ~= revision else { throw EtcdFailure(unreadable: "\(revision) is not a revision", at: field.offset) }
        return revision
    }

    mutating func boolean() throws(EtcdFailure) -> Bool {
        try expect(.varint)
        return try varint() != 0
    }

    mutating func byteArray() throws(EtcdFailure) -> [UInt8] {
        let content = try content()
        try reserve([UInt8].memorySize(count: content.count))
        return Array(bytes[content])
    }

    /// Reads a string; invalid UTF-8 is repaired.
    mutating func string() throws(EtcdFailure) -> String {
        String(decoding: try byteArray(), as: UTF8.self)
    }

    /// Reads an element of a repeated field of messages, which are collected in an array.
    mutating func element<Message: ProtobufMessage>(as type: Message.Type = Message.self) throws(EtcdFailure) -> Message {
        try reserve(Self.memorySize(ofElement: Message.self))
        return try message()
    }

    /// Reads a message.
    ///
    /// A repeated message replaces the earlier one instead of being merged with it: etcd never writes a message in parts.
    mutating func message<Message: ProtobufMessage>(as type: Message.Type = Message.self) throws(EtcdFailure) -> Message {
        let outerEnd = end
        let content = try content()
        (offset, end) = (content.lowerBound, content.upperBound)
        let message = try Message(from: &self)
        (offset, end) = (content.upperBound, outerEnd)
        return message
    }

    /// Skips an element of a repeated field, and returns a reader with which it can be read later.
    ///
    /// The memory of both counts immediately.
    mutating func laterElement<Message: ProtobufMessage>(_ type: Message.Type) throws(EtcdFailure) -> ProtobufReader {
        let content = try content()
        let elements = Self.memorySize(ofElement: Self.self) + Self.memorySize(ofElement: Message.self)
        try reserve(elements + [UInt8].memorySize(count: content.count))
        var later = self
        (later.offset, later.end, later.memory) = (content.lowerBound, content.upperBound, Self.memoryLimit)
        return later
    }

    mutating func skip() throws(EtcdFailure) {
        switch field.wireType {
        case .varint: _ = try varint()
        case .fixed64: _ = try next(8)
        case .lengthDelimited: _ = try content()
        case .fixed32: _ = try next(4)
        }
    }
}

// MARK: - Memory

extension ProtobufReader {
    /// The memory of an element in an array, whose capacity may be twice its count after it has grown.
    private static func memorySize<Element>(ofElement type: Element.Type) -> Int {
        2 * MemoryLayout<Element>.stride
    }

    private mutating func reserve(_ size: Int) throws(EtcdFailure) {
        memory -= size
        guard memory < 0 else { return }
        let reason = """
            it takes more than \(Self.memoryLimit) bytes of memory, the limit of a response; check that etcd serves at the address, or \
            change fewer keys at once
            """
        throw EtcdFailure(unreadable: reason, at: offset, isResponseTooLarge: true)
    }
}

extension [UInt8] {
    /// The memory of an array with a number of bytes, including its header.
    static func memorySize(count: Int) -> Int { count > 0 ? count + 32 : 0 }

    var memorySize: Int { Self.memorySize(count: count) }
}

// MARK: - Bytes

extension ProtobufReader {
    private func expect(_ wireType: ProtobufWireType) throws(EtcdFailure) {
        guard field.wireType == wireType else {
            throw EtcdFailure(unreadable: "field \(field.number) is of type \(field.wireType), not \(wireType)", at: field.offset)
        }
    }

    /// Skips a length and as many bytes, and returns the range of the bytes.
    private mutating func content() throws(EtcdFailure) -> Range<Int> {
        try expect(.lengthDelimited)
        return try next(try varint())
    }

    private mutating func next(_ count: UInt64) throws(EtcdFailure) -> Range<Int> {
        guard count <= UInt64(end - offset) else { throw EtcdFailure(unreadable: "field \(field.number) ends too early", at: end) }
        let start = offset
        offset += Int(count)
        return start..<offset
    }

    private mutating func varint() throws(EtcdFailure) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < end {
            let byte = bytes[offset]
            // The tenth byte may have a single bit, and is the last one.
            guard shift < 63 || byte <= 1 else { throw EtcdFailure(unreadable: "an integer of more than 64 bits", at: offset) }
            offset += 1
            value |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw EtcdFailure(unreadable: "an integer ends too early", at: end)
    }
}

// MARK: - Messages

/// A message that is read field by field, in any order.
protocol ProtobufMessage: Sendable {
    init()

    /// Reads the value of a field, or skips it.
    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure)
}

extension ProtobufMessage {
    /// Reads all fields up to the end of the message.
    init(from reader: inout ProtobufReader) throws(EtcdFailure) {
        self.init()
        while let field = try reader.nextField() { try read(field, from: &reader) }
    }

    /// Decodes a message that was skipped before.
    init(unread reader: ProtobufReader) throws(EtcdFailure) {
        var reader = reader
        try self.init(from: &reader)
    }

    init(message: [UInt8]) throws(EtcdFailure) {
        try self.init(unread: ProtobufReader(message))
    }
}
