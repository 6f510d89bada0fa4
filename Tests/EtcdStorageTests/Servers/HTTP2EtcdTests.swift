#if os(macOS) || os(Linux)
    import ObservableStorage
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("HTTP2 with etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct HTTP2EtcdTests {
        /// A connection to the server that the tests share.
        private func connect() async throws -> HTTP2Connection {
            let cluster = try await EtcdCluster.shared()
            return try await HTTP2Connection.open(Endpoint(host: "127.0.0.1", port: UInt16(cluster.ports[0])), deadline: .distant)
        }

        private func call<Request: EtcdRequest>(_ request: Request, on connection: HTTP2Connection) async throws -> Request.Response {
            let call = HTTPRequest(calling: request.path, request.message, token: nil)
            return try Request.Response(of: try await connection.send(call, deadline: .distant))
        }

        @Test("One connection puts and reads many keys")
        func keepAlive() async throws {
            let connection = try await connect()
            for number in 0..<50 {
                let (key, value) = (Array("http2/keep-alive/\(number)".utf8), Array("\(number)".utf8))
                _ = try await call(PutRequest(key: key, value: value), on: connection)
                #expect(try await call(RangeRequest(key: key), on: connection).keyValues.map(\.value) == [value])
                #expect(connection.isUsable)
            }
        }

        @Test("Two hundred calls at the same time share a connection")
        func simultaneous() async throws {
            let connection = try await connect()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let (key, value) = (Array("http2/simultaneous/\(number)".utf8), Array(repeating: UInt8(number), count: 1_000))
                        _ = try await call(PutRequest(key: key, value: value), on: connection)
                        #expect(try await call(RangeRequest(key: key), on: connection).keyValues.map(\.value) == [value])
                    }
                }
                try await group.waitForAll()
            }
            let all = RangeRequest(key: Array("http2/simultaneous/".utf8), rangeEnd: Array("http2/simultaneous0".utf8))
            #expect(try await call(all, on: connection).keyValues.count == 200)
        }

        @Test("A value of a megabyte is put and read back")
        func largeValue() async throws {
            let connection = try await connect()
            let (key, value) = (Array("http2/large".utf8), (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 4) })
            _ = try await call(PutRequest(key: key, value: value), on: connection)
            #expect(try await call(RangeRequest(key: key), on: connection).keyValues.map(\.value) == [value])
        }

        @Test("Cancelled calls leave the connection as it was")
        func cancellation() async throws {
            let connection = try await connect()
            for number in 0..<100 {
                let key = Array("http2/cancelled".utf8)
                let task = Task { try await call(PutRequest(key: key, value: Array("\(number)".utf8)), on: connection) }
                for _ in 0..<number { await Task.yield() }
                task.cancel()
                _ = await task.result
                #expect(try await call(RangeRequest(key: key), on: connection).header.revision > 0)
            }
            #expect(connection.isUsable)
        }

        @Test("A watch reports puts, and answers requests for progress on its open stream")
        func watch() async throws {
            let connection = try await connect()
            let key = Array("http2/watch".utf8)
            let create = WatchRequest(key: key)
            let request = HTTPRequest(calling: WatchRequest.path, create.message, token: nil)
            let stream = try await connection.stream(request, deadline: .distant)
            try await expect(in: stream) { $0.isCreated }
            for number in 0..<3 {
                let value = Array("\(number)".utf8)
                _ = try await call(PutRequest(key: key, value: value), on: connection)
                try await expect(in: stream) { $0.events.contains { $0.keyValue.value == value } }
                try await stream.requestProgress()
                try await expect(in: stream) { $0.isProgress }
            }
        }

        @Test("A request that etcd does not know ends with a status in the head")
        func unknownMethod() async throws {
            let request = HTTPRequest(calling: "/etcdserverpb.KV/Nothing", [], token: nil)
            let response = try await connect().send(request, deadline: .distant)
            #expect(response.status == 200 && response.trailers?["grpc-status"] == "12" && response.body.isEmpty)
        }

        /// Reads until a message has come for which a condition holds.
        private func expect(in stream: HTTP2Stream, _ condition: (WatchResponse) -> Bool) async throws {
            var splitter = GRPCMessageSplitter()
            while try await stream.next(&splitter, deadline: .distant).map(condition) != true {}
        }
    }
#endif
