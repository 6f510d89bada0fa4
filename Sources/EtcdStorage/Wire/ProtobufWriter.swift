/// Encodes a protobuf message, whose fields are written in the order in which they are added.
///
/// A field with its default value is omitted, as proto3 requires, except in a `oneof`, where its presence tells which member is set.
package struct ProtobufWriter {
    /// The encoded fields.
    package private(set) var bytes: [UInt8] = []

    /// Creates a writer for a message without fields.
    package init() {}

    /// Adds an integer, or the number of an enumeration's case, unless it is 0.
    package mutating func field(_ number: Int, _ value: some FixedWidthInteger) {
        if value != 0 { oneofField(number, value) }
    }

    /// Adds a Boolean value, unless it is false.
    package mutating func field(_ number: Int, _ value: Bool) {
        if value { oneofField(number, 1) }
    }

    /// Adds bytes, unless there are none.
    package mutating func field(_ number: Int, _ value: [UInt8]) {
        if !value.isEmpty { oneofField(number, value) }
    }

    /// Adds a string, unless it is empty.
    package mutating func field(_ number: Int, _ value: String) {
        field(number, Array(value.utf8))
    }

    /// Adds an integer that is a member of a `oneof`, even if it is 0.
    package mutating func oneofField(_ number: Int, _ value: some FixedWidthInteger) {
        tag(number, .varint)
        // A negative number of any type is extended to 64 bits.
        varint(UInt64(truncatingIfNeeded: value))
    }

    /// Adds bytes that are a member of a `oneof`, even if there are none.
    package mutating func oneofField(_ number: Int, _ value: [UInt8]) {
        tag(number, .lengthDelimited)
        varint(UInt64(value.count))
        bytes += value
    }

    /// Adds a message with the fields that the closure adds, even if it adds none. Repeated calls add elements of a repeated field.
    package mutating func message(_ number: Int, _ fields: (inout ProtobufWriter) -> Void) {
        var message = ProtobufWriter()
        fields(&message)
        oneofField(number, message.bytes)
    }

    private mutating func tag(_ number: Int, _ wireType: ProtobufWireType) {
        varint(UInt64(number) << 3 | UInt64(wireType.rawValue))
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
