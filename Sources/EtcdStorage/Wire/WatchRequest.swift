/// The message that begins a watch, which sends a progress response if there are no events for some minutes, and large responses in
/// fragments.
struct WatchRequest: Sendable, Hashable {
    /// The key, or the first one of a range.
    var key: [UInt8]
    /// The key after the last one of the range; empty for a single key, and a NUL for no end.
    var rangeEnd: [UInt8] = []
    /// The revision of the first events; 0 for future ones.
    var startRevision: Int64 = 0
    /// Whether events contain the previous value of the key.
    var includesPrevious = false

    static let path = "/etcdserverpb.Watch/Watch"

    /// The message that requests a progress response for all watches of the stream.
    static var progress: [UInt8] {
        var writer = ProtobufWriter()
        writer.message(3) { _ in }
        return writer.bytes
    }

    var message: [UInt8] {
        var writer = ProtobufWriter()
        writer.message(1) {
            $0.field(1, key)
            $0.field(2, rangeEnd)
            $0.field(3, startRevision)
            // Progress responses. Who reads what has happened waits for it no longer than for the next message.
            $0.field(4, !includesPrevious)
            $0.field(6, includesPrevious)
            // Fragments.
            $0.field(8, true)
        }
        return writer.bytes
    }
}

struct WatchEvent: ProtobufMessage, Hashable {
    /// Whether the key was deleted instead of written.
    var isDelete = false
    /// The key as it was written; if it was deleted, only the key and the revision.
    var keyValue = KeyValue()
    /// The previous state of the key, if the watch requested it and it was not compacted.
    var previous: KeyValue?

    /// Whether the previous state of the key is missing, because it was compacted, if the watch has requested it.
    var lacksPrevious: Bool { previous == nil && (isDelete || keyValue.createRevision != keyValue.modRevision) }

    /// The memory that it takes in bytes.
    var memorySize: Int {
        let arrays = keyValue.key.memorySize + keyValue.value.memorySize
        return MemoryLayout<Self>.stride + arrays + (previous.map { $0.key.memorySize + $0.value.memorySize } ?? 0)
    }

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: isDelete = try reader.integer() == 1
        case 2: keyValue = try reader.message()
        case 3: previous = try reader.message()
        default: try reader.skip()
        }
    }
}

struct WatchResponse: ProtobufMessage, Hashable {
    /// The header, whose revision may be higher than that of the events.
    var header = ResponseHeader()
    /// Whether the watch has begun. A refused watch is created and cancelled at once.
    var isCreated = false
    var isCanceled = false
    /// Whether the next message of this watch continues this one.
    var isFragment = false
    /// The oldest revision that can be watched, if the watch was cancelled because it requested an older one; otherwise 0.
    var compactRevision: Int64 = 0
    /// Why the watch has ended; may be empty.
    var cancelReason = ""
    /// The events in the order of their revisions.
    var events: [WatchEvent] = []

    /// Whether the message contains only the revision of the header.
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

    mutating func read(_ field: Int, from reader: inout ProtobufReader) throws(EtcdFailure) {
        switch field {
        case 1: header = try reader.message()
        case 3: isCreated = try reader.boolean()
        case 4: isCanceled = try reader.boolean()
        case 5: compactRevision = try reader.revision()
        case 6: cancelReason = try reader.string()
        case 7: isFragment = try reader.boolean()
        case 11: events.append(try reader.element())
        default: try reader.skip()
        }
    }
}
