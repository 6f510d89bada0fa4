import Testing

@testable import EtcdStorage

@Suite("Messages of gRPC", .timeLimit(.minutes(10))) struct GRPCMessagesTests {
    private let messages: [[UInt8]] = [[1, 2, 3], [], [UInt8](repeating: 0, count: 300), [0], [], []]

    private var stream: [UInt8] { messages.flatMap { GRPCMessageSplitter.framed($0) } }

    @Test("A message is framed by a zero and its length, the highest byte first")
    func framed() {
        #expect(GRPCMessageSplitter.framed([]) == [0, 0, 0, 0, 0])
        #expect(GRPCMessageSplitter.framed([7, 8]) == [0, 0, 0, 0, 2, 7, 8])
        #expect(GRPCMessageSplitter.framed([UInt8](repeating: 9, count: 0x010203)).prefix(6) == [0, 0, 1, 2, 3, 9])
    }

    @Test("Messages are the same wherever the pieces of the stream end")
    func everySplit() throws {
        let stream = stream
        for first in 0...stream.count {
            for second in stride(from: first, through: stream.count, by: 7) {
                #expect(try split([Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...])]) == messages)
            }
        }
        #expect(try split([stream]) == messages)
        #expect(try split(stream.map { [$0] }) == messages)
    }

    @Test("A stream that ends inside of a message is not empty")
    func incomplete() throws {
        let stream = stream
        var ends = [0]
        for message in messages { ends.append((ends.last ?? 0) + 5 + message.count) }
        for count in 0...stream.count {
            var splitter = GRPCMessageSplitter()
            _ = try splitter.messages(in: Array(stream[..<count]))
            #expect(splitter.isEmpty == ends.contains(count))
        }
    }

    @Test("A message that is compressed, or has an unknown flag, is an error from then on", arguments: [1, 2, 255] as [UInt8])
    func compressed(flag: UInt8) throws {
        var splitter = GRPCMessageSplitter()
        #expect(try splitter.messages(in: GRPCMessageSplitter.framed([1]) + [flag, 0, 0, 0]) == [[1]])
        for piece in [[0], [], [0, 0, 0, 0, 0]] as [[UInt8]] {
            let failure = #expect(throws: EtcdFailure.self) { try splitter.messages(in: piece) }
            #expect(failure?.message == "the response cannot be read: it is compressed")
            #expect(failure?.isOutcomeUnknown == true)
        }
    }

    @Test(
        "Messages before a damaged one in the same piece are returned, and the error is thrown from then on",
        arguments: [[1, 0, 0, 0, 1, 9], [0, 4, 0, 0, 1]] as [[UInt8]])
    func messagesBeforeDamage(damage: [UInt8]) throws {
        var splitter = GRPCMessageSplitter()
        splitter.append(GRPCMessageSplitter.framed([1]) + GRPCMessageSplitter.framed([]) + damage + GRPCMessageSplitter.framed([2]))
        #expect(try splitter.next() == [1])
        #expect(try splitter.next() == [])
        #expect(!splitter.isEmpty)
        for next in [[], GRPCMessageSplitter.framed([3])] {
            #expect(throws: EtcdFailure.self) { try splitter.messages(in: next) }
        }
    }

    @Test("A message that is announced as larger than the limit is an error before it arrives")
    func limit() throws {
        var splitter = GRPCMessageSplitter()
        #expect(try splitter.messages(in: [0, 4, 0, 0, 0]).isEmpty)
        #expect(try splitter.messages(in: [UInt8](repeating: 1, count: 64 << 20)).map(\.count) == [64 << 20])
        let failure = #expect(throws: EtcdFailure.self) { try splitter.messages(in: [0, 4, 0, 0, 1]) }
        #expect(failure?.message == "the response cannot be read: 67108865 bytes are more than 67108864")
        #expect(failure?.isOutcomeUnknown == true && failure?.isTooLarge == false)
        var other = GRPCMessageSplitter()
        #expect(throws: EtcdFailure.self) { try other.messages(in: [0, 255, 255, 255, 255]) }
    }

    @Test("A message of many pieces takes linear time")
    func manyPieces() throws {
        var splitter = GRPCMessageSplitter()
        let piece = [UInt8](repeating: 5, count: 1_000)
        #expect(try splitter.messages(in: [0, 1, 0x31, 0x2D, 0]).isEmpty)
        for _ in 0..<19_999 { #expect(try splitter.messages(in: piece).isEmpty) }
        #expect(try splitter.messages(in: piece).first?.count == 20_000_000)
        #expect(splitter.isEmpty)
    }

    private func split(_ pieces: [[UInt8]]) throws -> [[UInt8]] {
        var splitter = GRPCMessageSplitter()
        return try pieces.flatMap { try splitter.messages(in: $0) }
    }
}
