import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Messages of a stream", .timeLimit(.minutes(10))) struct StreamMessageTests {
    private static let event =
        #"{"result":{"header":{"cluster_id":"1","revision":"5"},"events":[{"kv":{"key":"YQ==","mod_revision":"5"}}]}}"#
    private static let progress = #"{"result":{"header":{"revision":"6"},"watch_id":"-1"}}"#
    private static let error =
        #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}}"#

    @Test("Messages are the same wherever the pieces of the stream end")
    func everySplit() throws {
        let stream = Array("\(Self.event)\n\(Self.progress)\n\n\(Self.error)".utf8)
        let whole = try messages([stream])
        #expect(whole.count == 3)
        for first in 0...stream.count {
            for second in stride(from: first, through: stream.count, by: 7) {
                #expect(try messages([Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...])]) == whole)
            }
        }
        #expect(try messages(stream.map { [$0] }) == whole)
    }

    @Test("The error that ends a stream has no line feed, and is found at the end")
    func lastLine() throws {
        var lines = LineSplitter()
        #expect(lines.append(Array(Self.error.utf8)).isEmpty)
        let last = lines.finish()
        let line = try #require(last)
        guard case .failure(let failure) = try StreamMessage<WatchResponse>(line: line) else { return #expect(Bool(false)) }
        #expect(failure == EtcdFailure(code: 14, message: "etcdserver: no leader", httpStatus: 503))
        #expect(lines.finish() == nil)
    }

    @Test("The error of a later gateway, and one that is only text, are read too")
    func otherErrors() throws {
        let later = try StreamMessage<WatchResponse>(
            line: Array(#"{"error":{"code":16,"message":"etcdserver: invalid auth token","details":[]}}"#.utf8))
        #expect(later == .failure(EtcdFailure(code: 16, message: "etcdserver: invalid auth token")))
        let text = try StreamMessage<WatchResponse>(line: Array(#"{"error":"transport is closing"}"#.utf8))
        #expect(text == .failure(EtcdFailure(code: nil, message: "transport is closing")))
    }

    @Test(
        "A line that is neither a result nor an error is a failure", arguments: ["{}", "x", "[]", "{\"result\":null}", "{\"result\":{}} x"])
    func malformed(line: String) {
        let failure = #expect(throws: EtcdFailure.self) { try StreamMessage<WatchResponse>(line: Array(line.utf8)) }
        #expect(failure?.message.hasPrefix("the answer cannot be read: ") == true)
    }

    @Test("Damaged lines are read or refused, and what is read can be followed", arguments: 0..<4 as Range<UInt64>)
    func mutations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let lines = [Self.event, Self.progress, Self.error].map { Array($0.utf8) }
        var progress = WatchProgress(after: EtcdSnapshot(clusterID: 1, revision: 4, keyValues: []))
        var accepted = 0
        for _ in 0..<(isLong ? 25_000 : 500) {
            let line = RandomJSON.mutated(lines.randomElement(using: &generator) ?? [], using: &generator)
            do throws(EtcdFailure) {
                let message = try StreamMessage<WatchResponse>(line: line)
                accepted += 1
                if case .result(let response) = message { _ = progress.receive(response) }
            } catch {
                if error.message.isEmpty { Issue.record("\(line)") }
            }
        }
        #expect(accepted > (isLong ? 1_000 : 20))
    }

    @Test("A line of many pieces takes linear time")
    func longLine() {
        var lines = LineSplitter()
        let piece = [UInt8](repeating: 0x20, count: 1_000)
        for _ in 0..<20_000 { #expect(lines.append(piece).isEmpty) }
        #expect(lines.append([0x0A]).first?.count == 20_000_000)
    }

    private func messages(_ pieces: [[UInt8]]) throws -> [StreamMessage<WatchResponse>] {
        var splitter = LineSplitter()
        var lines = pieces.flatMap { splitter.append($0) }
        if let last = splitter.finish() { lines.append(last) }
        return try lines.map { try StreamMessage(line: $0) }
    }
}
