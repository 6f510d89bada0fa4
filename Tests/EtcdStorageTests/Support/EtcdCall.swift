import TestSupport
import Testing

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

extension GRPCServer {
    /// Starts a member that passes calls on to another one, and loses the response to one transaction.
    ///
    /// - Parameters:
    ///   - port: the port of the other member.
    ///   - number: the number of the transaction whose response is lost, from 1; 0 for none.
    ///   - arrives: whether that one is passed on.
    ///   - lose: called instead of responding, with the transactions up to that one; closes the connection by default.
    ///   - willGrant: called before a request for a lease is passed on.
    /// - Returns: the endpoint, and the transactions that clients have sent.
    static func forwarding(
        to port: Int, losing number: Int, arrives: Bool = true,
        _ lose: @escaping @Sendable (Call, _ transactions: [[UInt8]]) async throws -> Void = { call, _ in call.closeConnection() },
        willGrant: @escaping @Sendable () async throws -> Void = {}
    ) throws -> (endpoint: String, transactions: Recorder<[UInt8]>) {
        let transactions = Recorder<[UInt8]>()
        let server = try GRPCServer { call in
            guard let message = call.receive() else { return }
            let isTransaction = call.path == TxnRequest().path
            if isTransaction { transactions.record(message) }
            let isLost = isTransaction && transactions.elements.count == number
            Task {
                do {
                    if call.path == LeaseRequest.grant(timeToLive: 1).path { try await willGrant() }
                    if !isLost { return call.end(as: try await EtcdCall.response(to: message, call.path, of: port)) }
                    if arrives { _ = try await EtcdCall.response(to: message, call.path, of: port) }
                    try await lose(call, transactions.elements)
                } catch {
                    Issue.record(error)
                    call.closeConnection()
                }
            }
        }
        return (server.endpoint.description, transactions)
    }
}

extension GRPCServer.Call {
    /// Sends the response of another member.
    fileprivate func end(as response: HTTP2Exchange) {
        if !response.body.isEmpty { send(bytes: response.body) }
        end(response.trailers?["grpc-status"].flatMap { Int($0) } ?? 2, response.trailers?["grpc-message"] ?? "")
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
