import Testing

@testable import EtcdStorage

@Suite("HTTP2Exchange", .timeLimit(.minutes(10)))
struct HTTP2ExchangeTests {
    private let head = [HTTPField(name: ":status", value: "200"), HTTPField(name: "a", value: "b")]
    private let trailers = [HTTPField(name: "grpc-status", value: "0")]
    private var exchange = HTTP2Exchange(sendWindow: 0, maximumBodySize: 10)

    @Test("A response is a head, a body and trailers")
    mutating func response() throws {
        try exchange.receive(head, isEnd: false)
        #expect(exchange.status == 200 && exchange.fields == head && !exchange.hasEnded)
        try exchange.receive([1, 2][...], isEnd: false)
        try exchange.receive([3][...], isEnd: false)
        #expect(exchange.trailers == nil)
        try exchange.receive(trailers, isEnd: true)
        #expect(exchange.body == [1, 2, 3] && exchange.trailers == trailers && exchange.fields == head && exchange.hasEnded)
    }

    @Test("A response that ends with its body has no trailers")
    mutating func withoutTrailers() throws {
        try exchange.receive(head, isEnd: false)
        try exchange.receive([1][...], isEnd: true)
        #expect(exchange.body == [1] && exchange.trailers == [] && exchange.hasEnded)
    }

    @Test("The head of a response that ends with it is its trailers as well")
    mutating func onlyTrailers() throws {
        try exchange.receive(head, isEnd: true)
        #expect(exchange.status == 200 && exchange.fields == head && exchange.trailers == head && exchange.body.isEmpty)
    }

    @Test("Interim heads say nothing, and do not end a response", arguments: ["100", "103", "199"])
    mutating func interim(status: String) throws {
        for _ in 0..<3 { try exchange.receive([HTTPField(name: ":status", value: status)], isEnd: false) }
        #expect(exchange.status == nil && exchange.fields.isEmpty)
        try exchange.receive(head, isEnd: false)
        #expect(exchange.status == 200)
        var other = HTTP2Exchange(sendWindow: 0, maximumBodySize: 10)
        #expect(throws: HTTP2Violation.headerFields) { try other.receive([HTTPField(name: ":status", value: status)], isEnd: true) }
    }

    @Test(
        "A status is a number of three digits", arguments: ["", "20", "2000", "099", "000", "+20", "-20", "2.0", "２００", "20\u{0}", " 20"])
    mutating func malformedStatus(status: String) {
        #expect(throws: HTTP2Violation.headerFields) { try exchange.receive([HTTPField(name: ":status", value: status)], isEnd: false) }
        #expect(exchange.status == nil)
    }

    @Test("A head without a status, a body without a head, and a second head that does not end the response are violations")
    mutating func order() throws {
        #expect(throws: HTTP2Violation.headerFields) { try exchange.receive(trailers, isEnd: true) }
        #expect(throws: HTTP2Violation.headerFields) { try exchange.receive([1][...], isEnd: false) }
        #expect(!exchange.hasEnded)
        try exchange.receive(head, isEnd: false)
        #expect(throws: HTTP2Violation.headerFields) { try exchange.receive(head, isEnd: false) }
    }

    @Test("A body may be as large as the limit, whatever of it was taken")
    mutating func bodyLimit() throws {
        try exchange.receive(head, isEnd: false)
        try exchange.receive(Array(repeating: 1, count: 10)[...], isEnd: false)
        try exchange.receive(([] as [UInt8])[...], isEnd: false)
        #expect(throws: HTTP2Violation.messageTooLarge) { try exchange.receive([1][...], isEnd: false) }
        #expect(exchange.takeBody().count == 10 && exchange.body.isEmpty)
        try exchange.receive(Array(repeating: 2, count: 10)[...], isEnd: true)
        #expect(exchange.takeBody().count == 10 && exchange.takeBody().isEmpty)
    }

    @Test("The first failure stays, and a complete response has none")
    mutating func laterFailure() throws {
        exchange.fail(.closedByPeer, isRefused: true)
        exchange.fail(.cancelled)
        #expect(exchange.failure == .closedByPeer && exchange.isRefused)
        var other = HTTP2Exchange(sendWindow: 0, maximumBodySize: 10)
        try other.receive(head, isEnd: true)
        other.fail(.closedByPeer, isRefused: true)
        #expect(other.failure == nil && !other.isRefused)
    }
}
