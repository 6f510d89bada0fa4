/// How calls of gRPC are written as requests of HTTP/2, and their ends are read.
extension HTTPRequest {
    /// A call with its first message.
    ///
    /// - Parameters:
    ///   - path: the service and the method.
    ///   - token: the token of the user, if there is one.
    init(calling path: String, _ message: [UInt8], token: String?) {
        self.init(path: path, body: GRPCMessageSplitter.framed(message))
        fields = [
            HTTPField(name: "content-type", value: "application/grpc"), HTTPField(name: "te", value: "trailers"),
            // A member that has lost the others then refuses a request at once, and ends a stream, instead of being silent.
            HTTPField(name: "hasleader", value: "true"),
        ]
        if let token { fields.append(HTTPField(name: "token", value: token)) }
    }
}

extension EtcdFailure {
    /// The failure with which a call has ended; nil if it has succeeded, or has not ended with these fields.
    ///
    /// - Parameter fields: those after the body, or those of the head, which may be all of a response.
    init?(endOf fields: [HTTPField], httpStatus: Int) {
        switch fields["grpc-status"] {
        case nil where httpStatus == 200, "0": return nil
        case nil: self.init(code: nil, message: "an answer that is none of etcd's", httpStatus: httpStatus)
        case let status?: self.init(grpcStatus: Int(status) ?? 2, encodedMessage: fields["grpc-message"] ?? "")
        }
    }
}

extension EtcdRequest {
    /// Reads the answer to a call with one message in each direction.
    ///
    /// - Throws: ``EtcdFailure`` that the member has answered, or if the answer cannot be read.
    static func response(_ response: HTTPResponse) throws(EtcdFailure) -> Response {
        if let failure = EtcdFailure(endOf: response.trailers, httpStatus: response.status) { throw failure }
        guard response.trailers["grpc-status"] != nil else {
            throw EtcdFailure(code: nil, message: "an answer that is none of etcd's", httpStatus: response.status)
        }
        var splitter = GRPCMessageSplitter()
        // An answer of many small messages is not worth its memory.
        let messages = try splitter.append(response.body, limit: 2)
        try splitter.check()
        guard splitter.isEmpty else {
            throw EtcdFailure(code: nil, message: "an answer that ends within a message", httpStatus: response.status)
        }
        guard let message = messages.first, messages.count == 1 else {
            let count = messages.isEmpty ? "0 messages" : "2 messages or more"
            throw EtcdFailure(code: nil, message: "an answer with \(count) instead of one", httpStatus: response.status)
        }
        return try Self.response(from: message)
    }
}
