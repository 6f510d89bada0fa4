import TestSupport
import Testing

@testable import EtcdStorage

extension [UInt8] {
    /// The bytes that pairs of hexadecimal digits stand for, which may be separated by spaces.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

@Suite("Writing protobuf", .timeLimit(.minutes(10))) struct ProtobufWriterTests {
    private func written(_ fields: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = ProtobufWriter()
        fields(&writer)
        return writer.bytes
    }

    @Test("Fields are written as the examples of the format's documentation")
    func examples() {
        #expect(written { $0.field(1, 150) } == [UInt8](hex: "08 96 01"))
        #expect(written { $0.field(2, "testing") } == [UInt8](hex: "12 07 74 65 73 74 69 6e 67"))
        #expect(written { $0.message(3) { $0.field(1, 150) } } == [UInt8](hex: "1a 03 08 96 01"))
        #expect(written { $0.field(1, -2) } == [UInt8](hex: "08 fe ff ff ff ff ff ff ff ff 01"))
    }

    @Test("Integers of every size are written, negative ones in ten bytes whatever their type")
    func integers() {
        #expect(written { $0.field(1, 127) } == [UInt8](hex: "08 7f"))
        #expect(written { $0.field(1, 128) } == [UInt8](hex: "08 80 01"))
        #expect(written { $0.field(1, Int64.max) } == [UInt8](hex: "08 ff ff ff ff ff ff ff ff 7f"))
        #expect(written { $0.field(1, Int64.min) } == [UInt8](hex: "08 80 80 80 80 80 80 80 80 80 01"))
        #expect(written { $0.field(1, UInt64.max) } == [UInt8](hex: "08 ff ff ff ff ff ff ff ff ff 01"))
        #expect(written { $0.field(1, -1 as Int32) } == [UInt8](hex: "08 ff ff ff ff ff ff ff ff ff 01"))
        #expect(written { $0.field(16, true) } == [UInt8](hex: "80 01 01"))
        #expect(written { $0.field(536_870_911, 1) } == [UInt8](hex: "f8 ff ff ff 0f 01"))
    }

    @Test("Default values are left out, except in a oneof, and of messages")
    func defaults() {
        let bytes = written {
            $0.field(1, 0)
            $0.field(2, false)
            $0.field(3, [])
            $0.field(4, "")
        }
        #expect(bytes == [])
        #expect(written { $0.oneofField(1, 0) } == [0x08, 0])
        #expect(written { $0.oneofField(1, []) } == [0x0A, 0])
        #expect(written { $0.message(1) { _ in } } == [0x0A, 0])
    }

    @Test("The length of a nested message may have more than one byte")
    func longMessage() {
        let bytes = written { $0.message(1) { $0.message(2) { $0.field(3, [UInt8](repeating: 7, count: 200)) } } }
        #expect(bytes == [UInt8](hex: "0a ce 01 12 cb 01 1a c8 01") + [UInt8](repeating: 7, count: 200))
    }
}

@Suite("Reading protobuf", .timeLimit(.minutes(10))) struct ProtobufReaderTests {
    /// A reader at the value of the only field of a message.
    private func reader(_ hex: String) throws(EtcdFailure) -> ProtobufReader {
        var reader = ProtobufReader([UInt8](hex: hex))
        _ = try reader.nextField()
        return reader
    }

    private func integer<Number: FixedWidthInteger>(_ hex: String) throws(EtcdFailure) -> Number {
        var reader = try reader(hex)
        let number: Number = try reader.integer()
        #expect(try reader.nextField() == nil)
        return number
    }

    @Test("Fields are read as the examples of the format's documentation")
    func examples() throws {
        #expect(try integer("08 96 01") == 150)
        var text = try reader("12 07 74 65 73 74 69 6e 67")
        #expect(try text.string() == "testing")
        var bytes = try reader("12 02 00 ff")
        #expect(try bytes.byteArray() == [0, 0xFF])
        var nested = try reader("1a 02 18 07")
        #expect(try nested.message() == ResponseHeader(revision: 7))
        #expect(try nested.nextField() == nil)
    }

    @Test("Integers are read up to their limits, however many bytes they have")
    func integers() throws {
        #expect(try integer("08 ff ff ff ff ff ff ff ff 7f") == Int64.max)
        #expect(try integer("08 80 80 80 80 80 80 80 80 80 01") == Int64.min)
        #expect(try integer("08 ff ff ff ff ff ff ff ff ff 01") == Int64(-1))
        #expect(try integer("08 ff ff ff ff ff ff ff ff ff 01") == UInt64.max)
        #expect(try integer("08 ff ff ff ff ff ff ff ff ff 01") == Int32(-1))
        #expect(try integer("08 80 80 80 80 80 80 80 80 80 00") == 0)
        #expect(try integer("08 81 00") == 1)
        var boolean = try reader("08 80 80 80 80 80 80 80 80 80 01")
        #expect(try boolean.boolean())
    }

    @Test("Random integers are read as they were written")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 1)
        for shift in 0..<64 {
            let value = Int64(bitPattern: generator.next() >> shift)
            var writer = ProtobufWriter()
            writer.oneofField(5, value)
            writer.oneofField(6, UInt64(bitPattern: value))
            var reader = ProtobufReader(writer.bytes)
            #expect(try reader.nextField() == 5)
            #expect(try reader.integer() == value)
            #expect(try reader.nextField() == 6)
            #expect(try reader.integer() == UInt64(bitPattern: value))
            #expect(try reader.nextField() == nil)
        }
    }

    @Test("What is not UTF-8 in a string is replaced")
    func invalidUTF8() throws {
        var reader = try reader("0a 03 61 ff 62")
        #expect(try reader.string() == "a\u{FFFD}b")
    }

    @Test("Fields that are not known are passed over, whatever their type")
    func unknownFields() throws {
        let unknown = "a0 06 ff 01 a1 06 0102030405060708 a2 06 03 010203 a2 06 00 a5 06 01020304"
        let message = [UInt8](hex: "\(unknown) 08 05 \(unknown) 18 07 \(unknown)")
        #expect(try ResponseHeader(message: message) == ResponseHeader(clusterID: 5, revision: 7))
    }

    @Test("Fields are read in any order; a later value replaces an earlier one, and elements are added")
    func order() throws {
        let response = try RangeRequest.Response(message: [UInt8](hex: "20 05 12 03 0a0161 0a 02 1809 12 00 20 02"))
        #expect(response.header.revision == 9)
        #expect(try response.keyValues == [KeyValue(key: [0x61]), KeyValue()])
        #expect(response.count == 2)
    }

    @Test(
        "A known field of another type than is expected is an error that tells both",
        arguments: [
            ("0a 00", "field 1 is of type lengthDelimited, not varint"), ("09 0000000000000000", "field 1 is of type fixed64, not varint"),
            ("08 01 1d 00000000", "field 3 is of type fixed32, not varint"),
        ])
    func wrongType(hex: String, reason: String) {
        let failure = #expect(throws: EtcdFailure.self) { try ResponseHeader(message: [UInt8](hex: hex)) }
        #expect(failure?.message.hasPrefix("the response cannot be read: \(reason) (at byte ") == true)
        for hex in ["08 01", "0d 00000000"] {
            #expect(throws: EtcdFailure.self) { try KeyValue(message: [UInt8](hex: hex)) }
            #expect(throws: EtcdFailure.self) { try HeaderResponse(message: [UInt8](hex: hex)) }
        }
    }

    @Test(
        "Damaged fields are errors, known and unknown ones",
        arguments: [
            // Groups, and types that do not exist.
            "0b 0c", "0c", "a3 06 a4 06", "0e 00", "0f 00",
            // Numbers that are out of range.
            "00 00", "02 00", "80 80 80 80 10 00", "f8 ff ff ff ff ff ff ff ff 01 00",
            // Integers of more than 64 bits.
            "08 ff ff ff ff ff ff ff ff ff 02", "08 80 80 80 80 80 80 80 80 80 80 01", "a0 06 80 80 80 80 80 80 80 80 80 80 00",
            // Lengths beyond the end.
            "a2 06 01", "a2 06 ff ff ff ff 0f 00", "a2 06 ff ff ff ff ff ff ff ff ff 01 00", "a2 06 80 80 80 80 80 80 80 80 80 01 00",
            // Ends inside of a field.
            "08", "08 80", "a1 06 01020304050607", "a5 06 010203", "a2", "a2 06",
        ])
    func damaged(hex: String) {
        let failure = #expect(throws: EtcdFailure.self) { try ResponseHeader(message: [UInt8](hex: hex)) }
        #expect(failure?.message.hasPrefix("the response cannot be read: ") == true)
    }

    @Test("A nested message ends where its length says, and cannot be longer than what it is nested in")
    func nestedEnd() throws {
        // The integer would go on after the end of the header.
        #expect(throws: EtcdFailure.self) { try HeaderResponse(message: [UInt8](hex: "0a 02 18 87 01")) }
        #expect(throws: EtcdFailure.self) { try HeaderResponse(message: [UInt8](hex: "0a 03 18 07")) }
        // The value of the key would go on after the end of the element, and of the list's end.
        #expect(throws: EtcdFailure.self) { try RangeRequest.Response(message: [UInt8](hex: "12 03 0a 02 61 20 02")).decoded() }
        #expect(throws: EtcdFailure.self) { try WatchResponse(message: [UInt8](hex: "5a 04 12 03 0a 01 61")) }
    }

    @Test("An error tells where it is, from the beginning of the outermost message")
    func offset() {
        var reader = ProtobufReader([UInt8](hex: "10 01 0a 04 10 01 1a 00"))
        let error = #expect(throws: EtcdFailure.self) { try HeaderResponse(from: &reader) }
        #expect(error?.description == "the response cannot be read: field 3 is of type lengthDelimited, not varint (at byte 6)")
    }
}
