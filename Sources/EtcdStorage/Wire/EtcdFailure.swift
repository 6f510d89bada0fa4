/// An error that etcd, or something between it and here, has answered.
///
/// A code of gRPC has several meanings in etcd, which only the text of the message tells apart.
struct EtcdFailure: Error, Sendable, Hashable {
    /// The code of gRPC; nil if the answer is none of etcd's: that of a proxy, or bytes that cannot be read.
    let code: Int?
    /// The message in etcd's words.
    let message: String
    /// The status of HTTP; nil for an error inside a stream.
    let httpStatus: Int?

    /// Creates a failure.
    init(code: Int?, message: String, httpStatus: Int? = nil) {
        (self.code, self.message, self.httpStatus) = (code, message, httpStatus)
    }

    /// Reads the body of an answer whose status is not 200, in any shape; never fails.
    init(httpStatus: Int, body: [UInt8]) {
        do throws(JSONError) {
            var scanner = JSONScanner(body)
            var failure = try EtcdFailure(from: &scanner)
            if httpStatus != failure.httpStatus {
                failure = EtcdFailure(code: failure.code, message: failure.message, httpStatus: httpStatus)
            }
            self = failure
        } catch {
            let text = String(decoding: body.prefix(200), as: UTF8.self)
            self.init(code: nil, message: text.isEmpty ? "an empty answer" : text, httpStatus: httpStatus)
        }
    }

    /// An answer with a status of success whose body is not what etcd answers.
    init(malformed error: JSONError, httpStatus: Int?) {
        self.init(code: nil, message: "the answer cannot be read: \(error)", httpStatus: httpStatus)
    }
}

// MARK: - Meaning

extension EtcdFailure {
    /// A revision that was asked for has been compacted: the history since then is lost.
    var isCompacted: Bool { code == 11 && message.contains("compacted") }

    /// A revision that was asked for does not exist yet: this is not the history in which it was read.
    var isFutureRevision: Bool { code == 11 && message.contains("future revision") }

    /// The request has too many bytes or operations: a smaller one can succeed.
    var isTooLarge: Bool {
        switch code {
        case 3: message.contains("request is too large") || message.contains("too many operations")
        case 8: message.contains("larger than max")
        default: httpStatus == 413
        }
    }

    /// The token is missing, unknown or expired, so that the request did nothing; with a new one it can succeed.
    var isTokenRefused: Bool {
        if code == 16 || httpStatus == 401 { return true }
        // Without a token 3.4 misses the user's name; later members refuse a token that is older than the users' rights.
        return ["invalid auth token", "user name is empty", "revision of auth store is old"].contains { message.contains($0) }
    }

    /// The name or the password is wrong.
    var isAuthenticationFailed: Bool { message.contains("authentication failed") }

    /// The users' rights are not checked at all, so that there are no tokens.
    var isAuthenticationDisabled: Bool { code == 9 && message.contains("authentication is not enabled") }

    /// The user may not do this.
    var isPermissionDenied: Bool { code == 7 }

    /// The lease does not exist, or has expired.
    var isLeaseNotFound: Bool { code == 5 && message.contains("lease not found") }

    /// The member has no room for what it is already asked: it did nothing, and can do it later.
    var isOverloaded: Bool { code == 8 && message.contains("too many requests") }

    /// The space of the database is used up: nothing can be written until an administrator makes room.
    var isSpaceExceeded: Bool { code == 8 && message.contains("database space exceeded") }

    /// The member cannot serve at present; another one may.
    var isUnavailable: Bool { code == 14 || (code == nil && [502, 503, 504].contains(httpStatus)) }

    /// Whether the request may have taken effect in spite of the failure.
    ///
    /// True unless the failure proves that it did not, for the members that are unavailable as well.
    var isOutcomeUnknown: Bool {
        switch code {
        case 1, 2, 4, 13, 15: true
        // What a member, or its gateway, says before it has done anything.
        case 14: !["no leader", "not capable", "TransientFailure", "too many requests"].contains { message.contains($0) }
        case nil: httpStatus.map { !(400..<500).contains($0) } ?? true
        default: false
        }
    }
}

extension EtcdFailure: CustomStringConvertible {
    /// The message with the codes.
    var description: String {
        let codes = [code.map { "code \($0)" }, httpStatus.map { "HTTP \($0)" }].compactMap(\.self)
        return codes.isEmpty ? message : "\(message) (\(codes.joined(separator: ", ")))"
    }
}

// MARK: - Reading

extension EtcdFailure: JSONReadable {
    /// Reads `{"error", "message", "code"}` of 3.4, `{"code", "message", "details"}` of later gateways, `{"grpc_code", "http_code",
    /// "message"}` inside a stream, or `{"error": {…}}` around one of them.
    init(from scanner: inout JSONScanner) throws(JSONError) {
        var code: Int?
        var status: Int?
        var message: String?
        var nested: EtcdFailure?
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            switch name {
            case "code", "grpc_code": code = try scanner.integer()
            case "http_code": status = try scanner.integer()
            case "message": message = try scanner.string()
            case "error" where try scanner.nextByte() == UInt8(ascii: "{"): nested = try EtcdFailure(from: &scanner)
            case "error":
                let text = try scanner.string()
                message = message ?? text
            default: try scanner.skip()
            }
        }
        self.init(
            code: code ?? nested?.code, message: message ?? nested?.message ?? "an error without a message",
            httpStatus: status ?? nested?.httpStatus)
    }
}
