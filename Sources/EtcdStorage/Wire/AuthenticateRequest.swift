/// Exchanges a name and a password for a token.
struct AuthenticateRequest: EtcdRequest, Hashable {
    var name: String
    var password: String

    var path: String { "/etcdserverpb.Auth/Authenticate" }

    func write(to writer: inout ProtobufWriter) {
        writer.field(1, name)
        writer.field(2, password)
    }

    /// A token, which expires if it is not used for some time.
    struct Response: ProtobufMessage, Hashable {
        /// The token, the complete value of the field `Authorization`.
        var token = ""

        mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(ProtobufError) {
            if field == 2 { token = try reader.string() } else { try reader.skip() }
        }
    }
}

// Neither the password nor the token is printed.
extension AuthenticateRequest: CustomStringConvertible, CustomReflectable {
    var description: String { "authentication of \(name)" }

    var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .struct) }
}

extension AuthenticateRequest.Response: CustomStringConvertible, CustomReflectable {
    var description: String { "a token" }

    var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
