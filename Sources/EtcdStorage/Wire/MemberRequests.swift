/// Exchanges a name and a password for a token.
struct AuthenticateRequest: EtcdRequest, Hashable {
    /// The user.
    var name: String
    /// The password.
    var password: String

    var path: String { "/v3/auth/authenticate" }

    func write(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("password", password)
    }

    /// A token, which expires if it is not used for some time.
    struct Response: Hashable {
        /// The header.
        var header = ResponseHeader()
        /// The token, which is the whole value of the field `Authorization`.
        var token = ""
    }
}

extension AuthenticateRequest.Response: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "token": token = try scanner.string()
        default: try scanner.skip()
        }
    }
}

/// Asks a member about itself.
struct StatusRequest: EtcdRequest, Hashable {
    var path: String { "/v3/maintenance/status" }

    func write(to writer: inout JSONWriter) {}

    /// What a member tells about itself.
    struct Response: Hashable {
        /// The header.
        var header = ResponseHeader()
        /// The version of the member, such as 3.4.23.
        var version = ""
        /// The member that leads the cluster; 0 if there is none at present.
        var leader: UInt64 = 0
    }
}

extension StatusRequest.Response: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "version": version = try scanner.string()
        case "leader": leader = try scanner.integer()
        default: try scanner.skip()
        }
    }
}
