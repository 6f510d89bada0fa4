/// A value that can be read from JSON.
protocol JSONReadable: Sendable {
    /// Reads the value at which the scanner stands.
    init(from scanner: inout JSONScanner) throws(JSONError)
}

extension JSONReadable {
    /// Reads a value that is the whole text.
    init(json: [UInt8]) throws(JSONError) {
        var scanner = JSONScanner(json)
        try self.init(from: &scanner)
        try scanner.finish()
    }
}

/// A value that is read from the members of a JSON object.
protocol JSONObject: JSONReadable {
    /// The value of an object without members.
    init()

    /// Reads the value of a member, or skips it.
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError)
}

extension JSONObject {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        self.init()
        try scanner.beginObject()
        while let member = try scanner.nextMember() { try read(member, from: &scanner) }
    }
}

/// A request to etcd's JSON gateway, which is a POST with a body, and how its answer is read.
protocol EtcdRequest: Sendable {
    /// What etcd answers.
    associatedtype Response: JSONReadable

    /// The path, beginning with a slash.
    var path: String { get }

    /// Adds the members of the body, which is a JSON object.
    func write(to writer: inout JSONWriter)

    /// Whether the request changes nothing, so that it makes no difference whether it arrives: false unless the request implements it.
    static var isRead: Bool { get }

    /// Reads an answer.
    ///
    /// - Throws: ``EtcdFailure`` if the status is not 200, or if the body cannot be read.
    static func response(httpStatus: Int, body: [UInt8]) throws(EtcdFailure) -> Response
}

extension EtcdRequest {
    static var isRead: Bool { false }

    /// The body in JSON.
    var body: [UInt8] {
        var writer = JSONWriter()
        writer.object(write)
        return writer.bytes
    }

    static func response(httpStatus: Int, body: [UInt8]) throws(EtcdFailure) -> Response {
        guard httpStatus == 200 else { throw EtcdFailure(httpStatus: httpStatus, body: body) }
        do throws(JSONError) {
            return try Response(json: body)
        } catch {
            throw EtcdFailure(malformed: error, httpStatus: httpStatus)
        }
    }
}

/// What every answer tells about the member that gave it.
struct ResponseHeader: Sendable, Hashable {
    /// The cluster, by which another one at the same address is noticed.
    var clusterID: UInt64 = 0
    /// The member of the cluster.
    var memberID: UInt64 = 0
    /// The revision of the key-value store when the request was applied.
    var revision: Int64 = 0
    /// The term of the election in which the member answered.
    var raftTerm: UInt64 = 0
}

extension ResponseHeader: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "cluster_id": clusterID = try scanner.integer()
        case "member_id": memberID = try scanner.integer()
        case "revision": revision = try scanner.integer()
        case "raft_term": raftTerm = try scanner.integer()
        default: try scanner.skip()
        }
    }
}

/// A key with its value and its history.
struct KeyValue: Sendable, Hashable {
    /// The bytes of the key.
    var key: [UInt8] = []
    /// The bytes of the value.
    var value: [UInt8] = []
    /// The revision in which the key was created last.
    var createRevision: Int64 = 0
    /// The revision in which the key was written last; in an event, in which it was written or deleted.
    var modRevision: Int64 = 0
    /// The number of times that the key was written since it was created.
    var version: Int64 = 0
    /// The lease with which the key ends; 0 if there is none.
    var lease: Int64 = 0
}

extension KeyValue: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "key": key = try scanner.base64()
        case "value": value = try scanner.base64()
        case "create_revision": createRevision = try scanner.integer()
        case "mod_revision": modRevision = try scanner.integer()
        case "version": version = try scanner.integer()
        case "lease": lease = try scanner.integer()
        default: try scanner.skip()
        }
    }
}

extension JSONScanner {
    /// Reads an array of values.
    mutating func array<Element: JSONReadable>(of type: Element.Type = Element.self) throws(JSONError) -> [Element] {
        var elements: [Element] = []
        try beginArray()
        while try nextElement() { elements.append(try Element(from: &self)) }
        return elements
    }
}

/// An answer of which only the header is of use.
struct HeaderResponse: Sendable, Hashable {
    /// The header.
    var header = ResponseHeader()
}

extension HeaderResponse: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        if member == "header" { header = try ResponseHeader(from: &scanner) } else { try scanner.skip() }
    }
}
