#if os(macOS) || os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("HTTP with etcd", .needsEtcd, .timeLimit(.minutes(10)))
    struct HTTPEtcdTests {
        private func endpoint(of cluster: EtcdCluster) -> HTTPEndpoint {
            HTTPEndpoint(host: "127.0.0.1", port: UInt16(cluster.ports[0]))
        }

        private func base64(_ text: String) -> String {
            Data(text.utf8).base64EncodedString()
        }

        @Test("One connection puts and reads many keys")
        func keepAlive() async throws {
            let cluster = try await EtcdCluster.shared()
            let connection = try await HTTPConnection.open(endpoint(of: cluster), deadline: .distant)
            for number in 0..<50 {
                let key = base64("http/keep-alive/\(number)")
                let put = HTTPRequest(
                    path: "/v3/kv/put", body: .complete(Array(#"{"key":"\#(key)","value":"\#(base64("v\(number)"))"}"#.utf8)))
                #expect(try await connection.send(put, deadline: .distant).status == 200)
                let range = HTTPRequest(path: "/v3/kv/range", body: .complete(Array(#"{"key":"\#(key)"}"#.utf8)))
                let response = try await connection.send(range, deadline: .distant)
                #expect(response.status == 200)
                #expect(String(decoding: response.body, as: UTF8.self).contains(base64("v\(number)")))
                #expect(connection.isReusable)
            }
            withExtendedLifetime(cluster) {}
        }

        @Test("A value of a megabyte is put and read back")
        func largeValue() async throws {
            let cluster = try await EtcdCluster.shared()
            let connection = try await HTTPConnection.open(endpoint(of: cluster), deadline: .distant)
            let key = base64("http/large")
            let value = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 4) }).base64EncodedString()
            let put = HTTPRequest(path: "/v3/kv/put", body: .complete(Array(#"{"key":"\#(key)","value":"\#(value)"}"#.utf8)))
            #expect(try await connection.send(put, deadline: .distant).status == 200)
            let range = HTTPRequest(path: "/v3/kv/range", body: .complete(Array(#"{"key":"\#(key)"}"#.utf8)))
            let response = try await connection.send(range, deadline: .distant)
            #expect(String(decoding: response.body, as: UTF8.self).contains(value))
            withExtendedLifetime(cluster) {}
        }

        @Test("A watch reports a put, and answers requests for progress on its open request")
        func watch() async throws {
            let cluster = try await EtcdCluster.shared()
            let watching = try await HTTPConnection.open(endpoint(of: cluster), deadline: .distant)
            let key = base64("http/watch")
            let create = HTTPRequest(path: "/v3/watch", body: .open(first: Array(#"{"create_request":{"key":"\#(key)"}}"#.utf8)))
            let stream = try await watching.stream(create, deadline: .distant)
            #expect(stream.head.status == 200)
            try await expect("\"created\":true", in: stream)
            let connection = try await HTTPConnection.open(endpoint(of: cluster), deadline: .distant)
            for number in 0..<3 {
                let value = base64("value \(number)")
                let put = HTTPRequest(path: "/v3/kv/put", body: .complete(Array(#"{"key":"\#(key)","value":"\#(value)"}"#.utf8)))
                #expect(try await connection.send(put, deadline: .distant).status == 200)
                try await expect(value, in: stream)
                try await stream.write(Array(#"{"progress_request":{}}"#.utf8))
                try await expect("\"watch_id\":\"-1\"", in: stream)
            }
            withExtendedLifetime(cluster) {}
        }

        /// Reads until a text has come.
        private func expect(_ text: String, in stream: HTTPStream) async throws {
            var bytes: [UInt8] = []
            while !String(decoding: bytes, as: UTF8.self).contains(text) {
                bytes += try #require(try await stream.next(deadline: .distant), "the stream ended before \(text)")
            }
        }
    }
#endif
