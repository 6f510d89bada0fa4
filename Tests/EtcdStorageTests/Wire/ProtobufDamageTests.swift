import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Damaged protobuf", .timeLimit(.minutes(10))) struct ProtobufDamageTests {
    private static let range = [UInt8](
        hex: """
            0a1208ffffffffffffffffff0110ac0218072002 12170a01611006180720022a010130fbffffffffffffffff01 1200 1801 2002 \
            a2060474657374
            """)
    private static let txn = [UInt8](
        hex: "0a021809 1001 1a090a0712030a01612001 1a0612040a021809 1a021200 1a041a021003")
    private static let watch = [UInt8](
        hex: "0a0408011804 3801 5a0e080112050a016118051a032a0101 5a0812060a01621806")
    private static let progress = [UInt8](hex: "0a0408011809 10ffffffffffffffffff01")
    private static let refusal = [UInt8](hex: "0a00 1801 2001 320664656e696564")

    @Test("A message that ends too early is an error, unless it ends between two of its fields")
    func everyEnd() throws {
        // Where the fields of the message begin, and its end.
        let ends = [0, 20, 45, 47, 49, 51, 58]
        #expect(ends.last == Self.range.count)
        for count in 0...Self.range.count {
            let message = Array(Self.range[..<count])
            if ends.contains(count) {
                #expect(throws: Never.self) { try RangeRequest.Response(message: message).decoded() }
            } else {
                #expect(throws: (any Error).self, "\(count)") { try RangeRequest.Response(message: message).decoded() }
            }
        }
        #expect(try RangeRequest.Response(message: Self.range).keyValues.count == 2)
    }

    @Test("Random bytes are read or refused", arguments: 0..<4 as Range<UInt64>)
    func randomBytes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<(isLong ? 100_000 : 5_000) {
            let message = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                // Small bytes are the tags and lengths of the known fields.
                UInt8.random(in: 0...(Bool.random(using: &generator) ? 0x30 : 0xFF), using: &generator)
            }
            if isRead(ResponseHeader.self, message) { accepted += 1 }
            if isRead(RangeRequest.Response.self, message) { accepted += 1 }
            if isRead(TxnRequest.Response.self, message) { accepted += 1 }
            if isRead(WatchResponse.self, message) { accepted += 1 }
            if isRead(StatusRequest.Response.self, message) { accepted += 1 }
        }
        #expect(accepted > (isLong ? 10_000 : 500))
    }

    @Test("Damaged messages are read or refused, and what is read can be followed", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed &+ 1_000)
        var progress = WatchProgress(after: EtcdSnapshot(clusterID: 1, revision: 4, keyValues: []))
        let messages = [Self.watch, Self.progress, Self.refusal]
        var accepted = 0
        for _ in 0..<(isLong ? 25_000 : 1_000) {
            let message = mutated(messages.randomElement(using: &generator) ?? [], using: &generator)
            do throws(EtcdFailure) {
                _ = progress.receive(try WatchResponse(message: message))
                accepted += 1
            } catch {
                #expect(error.code == nil && error.isOutcomeUnknown)
            }
            _ = isRead(RangeRequest.Response.self, mutated(Self.range, using: &generator))
            _ = isRead(TxnRequest.Response.self, mutated(Self.txn, using: &generator))
        }
        #expect(accepted > (isLong ? 2_500 : 100))
    }

    /// Whether the message can be read; if not, the error has to tell where.
    private func isRead<Message: ProtobufMessage>(_ type: Message.Type, _ message: [UInt8]) -> Bool {
        var reader = ProtobufReader(message)
        do throws(EtcdFailure) {
            _ = try Message(from: &reader)
            #expect(reader.offset == message.count)
            return true
        } catch {
            let offset = error.message.split(separator: " (at byte ").last.flatMap { Int($0.dropLast()) }
            #expect(0...message.count ~= offset ?? -1, "\(error)")
            return false
        }
    }

    private func mutated(_ message: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
        var message = message
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !message.isEmpty {
            let index = Int.random(in: 0..<message.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: message[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: message.remove(at: index)
            case 2: message[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 3: message.insert(UInt8.random(in: 0...255, using: &generator), at: index)
            default: message.insert(contentsOf: message[index..<min(index + 5, message.count)], at: index)
            }
        }
        return message
    }

    @Test("A megabyte of fields that are not known takes linear time")
    func unknownFields() throws {
        var message = [UInt8](hex: "1809")
        for _ in 0..<250_000 { message += [0xA0, 0x06, 0x81, 0x01] }
        #expect(try ResponseHeader(message: message).revision == 9)
    }
}
