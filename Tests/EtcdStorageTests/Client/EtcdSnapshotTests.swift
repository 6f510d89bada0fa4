import ObservableStorage
import TestSupport
import Testing

@testable import EtcdStorage

/// Responses to requests for keys that real members never send.
@Suite("A snapshot and the faults of members", .timeLimit(.minutes(10))) struct EtcdSnapshotTests {
    /// A member that responds to each request for keys with a page.
    private func member(
        _ page: @escaping @Sendable (_ request: RangeRequest, _ number: Int) -> RangeRequest.Response
    ) throws -> (endpoint: String, requests: Recorder<RangeRequest>) {
        let requests = Recorder<RangeRequest>()
        let server = try GRPCServer { call in
            guard let message = call.receive(), let request = try? RangeRequest(message: message) else { return }
            let number = requests.elements.count
            requests.record(request)
            var response = page(request, number)
            response.header = ResponseHeader(clusterID: 7, revision: 5)
            // It gives in at last, so that a client without limits ends as well.
            if number >= 2_000 { response.hasMore = false }
            call.respond(response.message)
        }
        return (server.endpoint.description, requests)
    }

    private func client(_ endpoints: [String], memoryLimit: Int = 1 << 30) throws -> EtcdClient {
        var configuration = EtcdConfiguration(
            endpoints: endpoints, prefix: "", requestTimeout: .seconds(30), connectTimeout: .seconds(30))
        configuration.memoryLimit = memoryLimit
        return try EtcdClient(configuration)
    }

    private func snapshot(_ client: EtcdClient, pageSize: Int64 = 10) async throws -> EtcdSnapshot {
        try await client.snapshot(from: [1], to: [9], pageSize: pageSize, pageTimeout: .seconds(300))
    }

    private func failure(of client: EtcdClient) async throws -> EtcdFailure? {
        await #expect(throws: EtcdFailure.self) { _ = try await snapshot(client) }
    }

    private static func keys(_ keys: [[UInt8]], hasMore: Bool = true) -> RangeRequest.Response {
        RangeRequest.Response(keyValues: keys.map { KeyValue(key: $0) }, hasMore: hasMore, count: Int64(keys.count))
    }

    /// Pages of which none is the last one.
    private static let pages: [(keys: [[UInt8]], reason: String)] = [
        ([[2]], "not in their order"), ([[2], [2]], "not in their order"), ([[3], [2]], "not in their order"), ([], "no keys"),
        ([[0]], "not in their order"), ([[9]], "not in the range"), ((2..<13).map { [$0] }, "11 keys instead of at most 10"),
    ]

    @Test("Pages that do not advance are an error that says so, and another member is tried next", arguments: pages)
    func endless(keys: [[UInt8]], reason: String) async throws {
        let (endless, requests) = try member { _, _ in Self.keys(keys) }
        let (other, _) = try member { _, _ in Self.keys([[3], [4]], hasMore: false) }
        let client = try client([endless, other])
        let failure = try await failure(of: client)
        #expect(failure?.message.contains(reason) == true, "\(failure as Any)")
        #expect(failure?.message.contains("check what serves at the address") == true)
        // The next page may have been requested already.
        #expect(requests.elements.count <= 3)
        #expect(try await snapshot(client).keyValues.map(\.key) == [[3], [4]])
    }

    @Test("A response without a header is no empty prefix: another member is asked, and the error of the last one names the reason")
    func noHeader() async throws {
        let headless = try GRPCServer { call in
            if call.receive() != nil { call.respond([]) }
        }
        let (other, _) = try member { _, _ in Self.keys([[3]], hasMore: false) }
        let client = try client([headless.endpoint.description, other])
        #expect(try await snapshot(client).keyValues.map(\.key) == [[3]])
        try await withEnoughTime { time in
            let client = try self.client([headless.endpoint.description])
            let error = await #expect(throws: EtcdUnavailable.self) {
                _ = try await client.snapshot(from: [1], to: [9], pageTimeout: time)
            }
            return error?.description.contains("it has no header; check what serves at the address") == true
        }
    }

    @Test("Keys without end are read up to the limit, which the error names with the remedy")
    func rising() async throws {
        let (endpoint, requests) = try member { request, _ in Self.keys((1...8).map { request.key + [$0] }) }
        let failure = try await failure(of: client([endpoint], memoryLimit: 100_000))
        let message = """
            the keys under the prefix take more than 100000 bytes of memory; choose a longer prefix, or raise \
            EtcdConfiguration.memoryLimit
            """
        #expect(failure?.message == message)
        // Each page takes at least 400 bytes.
        #expect(requests.elements.count <= 250)
    }

    @Test("A response that takes too much memory is requested in smaller pages, down to one key")
    func smallerPages() async throws {
        let count = 400_000
        let (endpoint, requests) = try member { request, _ in
            let start = request.key == [1] ? 0 : Self.number(request.key)
            let end = min(start + Int(request.limit), count)
            return Self.keys((start..<end).map(Self.key), hasMore: end < count)
        }
        let snapshot = try await snapshot(client([endpoint]), pageSize: 1_000_000)
        let isWhole = snapshot.keyValues.map(\.key) == (0..<count).map(Self.key)
        #expect(isWhole)
        #expect(requests.elements.first?.limit == 1_000_000 && requests.elements.dropFirst().first?.limit == 125_000)

        let empty = ProtobufWriter.emptyKeys(2_000_000)
        let server = try GRPCServer { call in
            _ = call.receive()
            call.respond(empty)
        }
        let failure = try await failure(of: client([server.endpoint.description]))
        #expect(failure?.isResponseTooLarge == true)
    }

    private static func key(_ number: Int) -> [UInt8] {
        [2, UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    /// The number of the first key that is not before another one, which is one with a NUL.
    private static func number(_ key: [UInt8]) -> Int {
        key[1...3].reduce(0) { $0 << 8 | Int($1) } + 1
    }
}

extension ProtobufWriter {
    /// A response with keys without any field.
    fileprivate static func emptyKeys(_ count: Int) -> [UInt8] {
        Array(repeating: [2 << 3 | 2, 0] as [UInt8], count: count).flatMap(\.self)
    }
}
