/// What a client sends on the stream of watches.
enum WatchRequest: Sendable, Hashable {
    /// Begins to watch.
    case create(Create)
    /// Ends a watch.
    case cancel(watchID: Int64)
    /// Asks for a progress answer on all watches of the stream.
    case progress

    /// What is watched, from when on and how.
    struct Create: Sendable, Hashable {
        /// The key, or the first one of a range.
        var key: [UInt8]
        /// The key after the last one of the range; nil for a single key, and a NUL for no end.
        var rangeEnd: [UInt8]?
        /// The revision of the first events; 0 for those after now.
        var startRevision: Int64 = 0
        /// Whether a progress answer is wanted if there are no events for some minutes.
        var notifiesProgress = false
        /// Whether large answers may be divided into fragments.
        var allowsFragments = false
        /// Whether events have the earlier value of the key.
        var includesPrevious = false
    }

    /// The path of the stream.
    static let path = "/v3/watch"

    /// The message as a line.
    var body: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            switch self {
            case .create(let request): writer.object("create_request", request.write)
            case .cancel(let watchID): writer.object("cancel_request") { $0.member("watch_id", watchID) }
            case .progress: writer.object("progress_request") { _ in }
            }
        }
        return writer.bytes + [0x0A]
    }
}

extension WatchRequest.Create {
    /// Adds the members of the request to an object.
    func write(to writer: inout JSONWriter) {
        writer.member("key", base64: key)
        writer.member("range_end", base64: rangeEnd ?? [])
        writer.member("start_revision", startRevision)
        writer.member("progress_notify", notifiesProgress)
        writer.member("fragment", allowsFragments)
        writer.member("prev_kv", includesPrevious)
    }
}

/// A change of one key.
struct WatchEvent: Sendable, Hashable {
    /// Whether the key was deleted, rather than written.
    var isDelete = false
    /// The key as it was written; of a deleted one, only the key and the revision.
    var keyValue = KeyValue()
    /// The key as it was before, if the watch asked for it and etcd still has it.
    var previous: KeyValue?
}

extension WatchEvent: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "type": isDelete = try scanner.string() == "DELETE"
        case "kv": keyValue = try KeyValue(from: &scanner)
        case "prev_kv": previous = try KeyValue(from: &scanner)
        default: try scanner.skip()
        }
    }
}

/// A message on the stream of watches.
struct WatchResponse: Sendable, Hashable {
    /// The header, whose revision may be higher than that of the events.
    var header = ResponseHeader()
    /// The watch; -1 for an answer about all of the stream.
    var watchID: Int64 = 0
    /// Whether the watch has begun. One that is refused is begun and cancelled at once.
    var isCreated = false
    /// Whether the watch has ended.
    var isCanceled = false
    /// Whether the next message of this watch continues this one.
    var isFragment = false
    /// The oldest revision that can be watched, if the watch was cancelled because it asked for an older one; otherwise 0.
    var compactRevision: Int64 = 0
    /// Why the watch has ended; may be empty.
    var cancelReason = ""
    /// The events in the order of their revisions.
    var events: [WatchEvent] = []

    /// Whether the message tells nothing but the revision of the header.
    var isProgress: Bool { events.isEmpty && !isCreated && !isCanceled && !isFragment }

    /// Why the watch has ended; nil if it has not.
    var failure: EtcdFailure? {
        guard isCanceled else { return nil }
        if compactRevision != 0 {
            return EtcdFailure(code: 11, message: "required revision has been compacted, up to \(compactRevision)")
        }
        let code = cancelReason.contains("permission denied") ? 7 : nil
        return EtcdFailure(code: code, message: cancelReason.isEmpty ? "the watch was cancelled" : cancelReason)
    }
}

extension WatchResponse: JSONObject {
    mutating func read(_ member: String, from scanner: inout JSONScanner) throws(JSONError) {
        switch member {
        case "header": header = try ResponseHeader(from: &scanner)
        case "watch_id": watchID = try scanner.integer()
        case "created": isCreated = try scanner.boolean()
        case "canceled": isCanceled = try scanner.boolean()
        case "fragment": isFragment = try scanner.boolean()
        case "compact_revision": compactRevision = try scanner.integer()
        case "cancel_reason": cancelReason = try scanner.string()
        case "events": events = try scanner.array()
        default: try scanner.skip()
        }
    }
}
