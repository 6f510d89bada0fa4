/// gRPC calls as HTTP/2 requests.
extension HTTPRequest {
    /// Creates the request of a call, whose path is that of the service and the method, with its first message.
    init(calling path: String, _ message: [UInt8], token: String?) {
        self.init(path: path, body: GRPCMessageSplitter.framed(message))
        fields = [
            HTTPField(name: "content-type", value: "application/grpc"), HTTPField(name: "te", value: "trailers"),
            // A member without a leader then refuses a request at once and ends a stream, instead of staying silent.
            HTTPField(name: "hasleader", value: "true"),
        ]
        if let token { fields.append(HTTPField(name: "token", value: token)) }
    }
}

extension EtcdFailure {
    /// The failure of a call; nil if it has succeeded, or if the fields do not end it.
    ///
    /// - Parameter fields: the trailers, or the fields of the head, with which a response may end.
    init?(endOf fields: [HTTPField], httpStatus: Int?) {
        switch fields["grpc-status"] {
        case nil where httpStatus == 200, "0": return nil
        case nil: self.init(code: nil, message: "a response that is not etcd's", httpStatus: httpStatus)
        case let status?: self.init(grpcStatus: Int(status) ?? 2, encodedMessage: fields["grpc-message"] ?? "")
        }
    }
}

extension ProtobufMessage {
    /// Decodes the response to a unary call, which has ended.
    ///
    /// - Throws: ``EtcdFailure`` from the member, or if the response cannot be decoded.
    init(of response: HTTP2Exchange) throws(EtcdFailure) {
        let trailers = response.trailers ?? []
        if let failure = EtcdFailure(endOf: trailers, httpStatus: response.status) { throw failure }
        guard trailers["grpc-status"] != nil else {
            throw EtcdFailure(code: nil, message: "a response that is not etcd's", httpStatus: response.status)
        }
        var splitter = GRPCMessageSplitter()
        splitter.append(response.body)
        let message = try splitter.next()
        let hasFurther = try splitter.next() != nil
        guard hasFurther || splitter.isEmpty else {
            throw EtcdFailure(code: nil, message: "a response that ends within a message", httpStatus: response.status)
        }
        guard let message, !hasFurther else {
            let count = message == nil ? "0 messages" : "2 messages or more"
            throw EtcdFailure(code: nil, message: "a response with \(count) instead of one", httpStatus: response.status)
        }
        try self.init(message: message)
    }
}

extension EtcdRequest {
    /// Decodes the response of a member, which always has a header: without one, nothing would seem to be stored.
    func response(of exchange: HTTP2Exchange) throws(EtcdFailure) -> Response {
        let response = try Response(of: exchange)
        if Self.header(of: response)?.clusterID == 0 { throw EtcdFailure(foreign: "it has no header") }
        return response
    }
}

/// A watch at one member, a bidirectional gRPC stream.
extension HTTP2Stream {
    /// Waits for the next message.
    ///
    /// - Parameter splitter: divides the bytes of this stream.
    /// - Returns: nil if only a part of one has arrived.
    /// - Throws: ``EtcdFailure`` at the end of the stream; ``ConnectionError``.
    nonisolated(nonsending) func next(
        _ splitter: inout GRPCMessageSplitter, deadline: ContinuousClock.Instant
    ) async throws -> WatchResponse? {
        if let message = try splitter.next() { return try WatchResponse(message: message) }
        let (bytes, trailers) = try await next(deadline: deadline)
        splitter.append(bytes)
        if let message = try splitter.next() { return try WatchResponse(message: message) }
        guard let trailers else { return nil }
        throw EtcdFailure(endOf: trailers, httpStatus: status) ?? EtcdFailure(code: nil, message: "the member has ended the stream")
    }

    /// Sends a heartbeat, to which the member responds after the events that it has sent.
    nonisolated(nonsending) func requestProgress() async throws(ConnectionError) {
        try await write(GRPCMessageSplitter.framed(WatchRequest.progress))
    }
}
