import TestSupport
import Testing

@testable import EtcdStorage

/// An element of two bytes takes up to 200 in memory.
@Suite("The memory of responses", .timeLimit(.minutes(10))) struct ResponseMemoryTests {
    /// Elements of a repeated field, each without fields.
    private func elements(of field: UInt8, count: Int = 2_000_000) -> [UInt8] {
        Array(repeating: [field << 3 | 2, 0], count: count).flatMap(\.self)
    }

    private func expectTooLarge(_ read: () throws -> Void) {
        let failure = #expect(throws: EtcdFailure.self) { try read() }
        #expect(failure?.isResponseTooLarge == true && failure?.isOutcomeUnknown == true && failure?.isTooLarge == false)
        let start = "the response cannot be read: it takes more than 67108864 bytes of memory, the limit of a response; check that"
        #expect(failure?.message.hasPrefix(start) == true, "\(failure as Any)")
    }

    @Test("Keys, events and results of a few bytes are no more than fit into the limit")
    func elements() {
        expectTooLarge { _ = try RangeRequest.Response(message: elements(of: 2)) }
        expectTooLarge { _ = try WatchResponse(message: elements(of: 11)) }
        let result: [UInt8] = [3 << 3 | 2, 2, 2 << 3 | 2, 0]
        expectTooLarge { _ = try TxnRequest.Response(message: Array(repeating: result, count: 2_500_000).flatMap(\.self)) }
    }

    @Test("Many small arrays count with their headers")
    func arrays() {
        let key: [UInt8] = [2 << 3 | 2, 6, 1 << 3 | 2, 1, 1, 5 << 3 | 2, 1, 1]
        let count = 67_108_864 / (2 * (MemoryLayout<ProtobufReader>.stride + MemoryLayout<KeyValue>.stride) + 38)
        #expect(throws: Never.self) {
            _ = try RangeRequest.Response(message: Array(repeating: key, count: count).flatMap(\.self)).decoded()
        }
        expectTooLarge { _ = try RangeRequest.Response(message: Array(repeating: key, count: count + 1).flatMap(\.self)) }
    }

    @Test("A value of nearly 64 MB is read, as its bytes are allowed")
    func largeValue() throws {
        var writer = ProtobufWriter()
        writer.message(2) { $0.field(5, [UInt8](repeating: 7, count: 67_000_000)) }
        #expect(try RangeRequest.Response(message: writer.bytes).keyValues.first?.value.count == 67_000_000)
    }

    @Test("Of a response of many messages, only two are read")
    func messages() throws {
        let body = Array(repeating: GRPCMessageSplitter.framed([7]), count: 500_000).flatMap(\.self)
        let trailers = [HTTPField(name: "grpc-status", value: "0")]
        let failure = #expect(throws: EtcdFailure.self) {
            _ = try HeaderResponse(of: HTTP2Exchange(body: body, trailers: trailers))
        }
        #expect(failure?.message == "a response with 2 messages or more instead of one")
    }
}
