@testable import EtcdStorage

/// Calls to a member without a client, each on a connection of its own.
enum EtcdCall {
    /// Sends a request to a port of this machine, and returns the response.
    static func send<Request: EtcdRequest>(_ request: Request, to port: Int, token: String? = nil) async throws -> Request.Response {
        try await send(request.message, as: request, to: port, token: token)
    }

    /// Sends a message as that of a request.
    static func send<Request: EtcdRequest>(
        _ message: [UInt8], as request: Request, to port: Int, token: String? = nil
    ) async throws -> Request.Response {
        try Request.Response(of: try await response(to: message, request.path, of: port, token: token))
    }

    /// Sends a message to a service and method.
    static func response(to message: [UInt8], _ path: String, of port: Int, token: String? = nil) async throws -> HTTP2Exchange {
        let connection = try await HTTP2Connection.open(Endpoint(host: "127.0.0.1", port: UInt16(port)), deadline: .distant)
        return try await connection.send(HTTPRequest(calling: path, message, token: token), deadline: .distant)
    }
}

extension HTTP2Exchange {
    /// A complete response.
    init(body: [UInt8], trailers: [HTTPField]) throws(HTTP2Violation) {
        self.init(sendWindow: 0, maximumBodySize: .max)
        try receive([HTTPField(name: ":status", value: "200")], isEnd: false)
        var (rest, updates) = (body[...], [UInt8]())
        while !rest.isEmpty {
            try receive(rest.prefix(16_384), isEnd: false)
            updateReceiveWindow(1, to: &updates)
            rest = rest.dropFirst(16_384)
        }
        try receive(trailers, isEnd: true)
    }
}
