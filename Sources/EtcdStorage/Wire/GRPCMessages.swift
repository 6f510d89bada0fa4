/// Divides the bytes of a stream, which arrive in parts of any size, into gRPC messages.
///
/// Each message has a prefix of five bytes: a flag for compression, which is never requested here, and its length in big-endian order.
package struct GRPCMessageSplitter: Sendable {
    private static let maximumSize = 64 << 20

    // The bytes that have arrived after the last returned message.
    private var rest: ArraySlice<UInt8> = []

    /// Whether no bytes are left, so that the stream may end here.
    var isEmpty: Bool { rest.isEmpty }

    mutating func append(_ bytes: [UInt8]) {
        if rest.isEmpty { rest = bytes[...] } else { rest += bytes }
    }

    /// Removes and returns the next message; nil until all of it has arrived.
    ///
    /// - Throws: ``EtcdFailure`` if it is compressed or too large; also from each later call.
    mutating func next() throws(EtcdFailure) -> [UInt8]? {
        guard rest.count >= 5 else { return nil }
        guard rest.first == 0 else { throw EtcdFailure(unreadable: "it is compressed") }
        let length = rest.dropFirst().prefix(4).bigEndian
        guard length <= Self.maximumSize else {
            throw EtcdFailure(unreadable: "\(length) bytes are more than \(Self.maximumSize)")
        }
        guard rest.count - 5 >= length else { return nil }
        let message = rest.dropFirst(5).prefix(Int(length))
        // An empty slice would retain its whole buffer while nothing arrives.
        rest = message.endIndex == rest.endIndex ? [] : rest[message.endIndex...]
        return Array(message)
    }

    /// A message of less than 4 GiB with its prefix.
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        [0] + UInt32(message.count).bigEndianBytes + message
    }
}
