/// An error that etcd, or something between it and here, has answered.
///
/// A code of gRPC has several meanings in etcd, which only the text of the message tells apart.
struct EtcdFailure: Error, Sendable, Hashable {
    /// The code of gRPC; nil if the answer is none of gRPC's: that of a proxy, or bytes that cannot be read.
    let code: Int?
    /// The message in etcd's words.
    let message: String
    /// The status of HTTP; nil if it says nothing, as that of gRPC's answers, which is always 200.
    let httpStatus: Int?
    /// Whether the answer takes more memory than one may: a smaller one can be read.
    let isAnswerTooLarge: Bool

    /// Creates a failure.
    init(code: Int?, message: String, httpStatus: Int? = nil, isAnswerTooLarge: Bool = false) {
        (self.code, self.message, self.httpStatus, self.isAnswerTooLarge) = (code, message, httpStatus, isAnswerTooLarge)
    }

    /// Creates the failure of a call, from the fields `grpc-status` and `grpc-message` of its answer.
    init(grpcStatus: Int, encodedMessage: String) {
        let message = Self.percentDecoded(encodedMessage)
        self.init(code: grpcStatus, message: message.isEmpty ? "an error without a message" : message)
    }

    /// An answer with a status of success whose message is not what etcd answers.
    init(malformed error: ProtobufError) {
        self.init(code: nil, message: "the answer cannot be read: \(error)", isAnswerTooLarge: error.isMemoryExceeded)
    }

    /// The text with its escapes, a percent sign and two hexadecimal digits each, replaced by the bytes of UTF-8 that they stand for.
    ///
    /// A percent sign without digits is kept, as gRPC demands, so that no message is lost.
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
        // What a member says before it has done anything.
        case 14: !["no leader", "not capable", "too many requests"].contains { message.contains($0) }
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
