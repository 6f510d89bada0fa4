import PropertyListCoding

/// An error response of etcd, or of something in between, such as a proxy.
///
/// A gRPC code has several meanings in etcd, which only the text of the message distinguishes.
struct EtcdFailure: Error, Sendable, Hashable {
    /// The gRPC code; nil if the response is not gRPC's: that of a proxy, or bytes that cannot be read.
    let code: Int?
    let message: String
    /// The HTTP status; nil for responses of gRPC, whose status is always 200.
    let httpStatus: Int?
    /// Whether the response takes too much memory, so that a smaller one can be read.
    let isResponseTooLarge: Bool

    init(code: Int?, message: String, httpStatus: Int? = nil, isResponseTooLarge: Bool = false) {
        (self.code, self.message, self.httpStatus, self.isResponseTooLarge) = (code, message, httpStatus, isResponseTooLarge)
    }

    /// Creates the failure of a call from the fields `grpc-status` and `grpc-message` of its response.
    init(grpcStatus: Int, encodedMessage: String) {
        let message = Self.percentDecoded(encodedMessage)
        self.init(code: grpcStatus, message: message.isEmpty ? "an error without a message" : message)
    }

    /// Creates the failure of a successful call whose response cannot be decoded.
    init(unreadable reason: String, at offset: Int? = nil, isResponseTooLarge: Bool = false) {
        let position = offset.map { " (at byte \($0))" } ?? ""
        self.init(code: nil, message: "the response cannot be read: \(reason)\(position)", isResponseTooLarge: isResponseTooLarge)
    }

    /// Creates the failure of a successful call whose response a member of etcd never sends.
    init(foreign reason: String) {
        self.init(code: nil, message: "the response is not etcd's: \(reason); check what serves at the address")
    }

    /// Decodes the percent-encoding of a text in UTF-8.
    ///
    /// A percent sign without digits is kept, as gRPC requires, so that no message is lost.
    private static func percentDecoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Meaning

extension EtcdFailure {
    /// The requested revision has been compacted: the history since then is lost.
    var isCompacted: Bool { code == 11 && message.contains("compacted") }

    /// The requested revision does not exist yet: it was read in another history.
    var isFutureRevision: Bool { code == 11 && message.contains("future revision") }

    /// The request has too many bytes or operations: a smaller one can succeed. With code 8 it may also be the response, behind a proxy.
    var isTooLarge: Bool {
        switch code {
        case 3: message.contains("request is too large") || isForOperations
        case 8: message.contains("larger than max")
        default: httpStatus == 413
        }
    }

    var isForOperations: Bool { code == 3 && message.contains("too many operations") }

    /// The failure of a request that is too large, or, with code 8, whose response is; nil for any other error.
    init?(tooLarge error: any Error) {
        guard let failure = error as? EtcdFailure ?? (error as? EtcdUnavailable)?.error as? EtcdFailure, failure.isTooLarge else {
            return nil
        }
        self = failure
    }

    /// The token is missing, unknown or expired, so that the request had no effect; it can succeed with a new token.
    var isTokenRefused: Bool {
        if code == 16 || httpStatus == 401 { return true }
        // Without a token, 3.4 reports an empty user name; later members refuse a token that is older than the users' permissions.
        return ["invalid auth token", "user name is empty", "revision of auth store is old"].contains { message.contains($0) }
    }

    var isAuthenticationDisabled: Bool { code == 9 && message.contains("authentication is not enabled") }

    var isPermissionDenied: Bool { code == 7 }

    /// The lease does not exist, or has expired.
    var isLeaseNotFound: Bool { code == 5 && message.contains("lease not found") }

    /// The member is overloaded: the request had no effect, and can succeed later.
    var isOverloaded: Bool { code == 8 && message.contains("too many requests") }

    /// The member cannot serve at present; another one may.
    var isUnavailable: Bool { code == 14 || (code == nil && [502, 503, 504].contains(httpStatus)) }

    /// Whether the request may have taken effect in spite of the failure.
    ///
    /// True unless the failure proves that it has not, also if the member is unavailable.
    var isOutcomeUnknown: Bool {
        switch code {
        case 1, 2, 4, 13, 15: true
        case 8: isTooLarge
        // The messages of a member that has not processed the request.
        case 14: !["no leader", "not capable", "too many requests"].contains { message.contains($0) }
        case nil: httpStatus.map { !(400..<500).contains($0) } ?? true
        default: false
        }
    }
}

extension Error {
    /// Whether a member can be reached, but refuses the client, its password or its certificate, or there can be no TLS session with it.
    var isRefusal: Bool {
        switch self {
        case let failure as EtcdFailure: return failure.isTokenRefused || failure.code == 3 || failure.isPermissionDenied
        case let unavailable as EtcdUnavailable: return unavailable.error.isRefusal
        case let error as ConnectionError: if case .filter = error.reason { return true } else { return false }
        default: return false
        }
    }
}

extension EtcdFailure: CustomStringConvertible {
    var description: String {
        // It may be another server's, and is shown on terminals.
        let message = message.unicodeScalars.contains { $0.isUnprintable || $0 == "\n" } ? message.quoted : message
        let codes = [code.map { "code \($0)" }, httpStatus.map { "HTTP \($0)" }].compactMap(\.self)
        return codes.isEmpty ? message : "\(message) (\(codes.joined(separator: ", ")))"
    }
}
