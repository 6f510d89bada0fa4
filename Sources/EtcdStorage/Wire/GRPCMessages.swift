/// Divides the bytes of a stream, which arrive in parts of any size, into gRPC messages.
///
/// Each message has a prefix of five bytes: a flag for compression, which is never requested here, and its length in big-endian order.
package struct GRPCMessageSplitter: Sendable {
    private let maximumSize: Int
    // The parts of the next message and its prefix that have arrived.
    private var message: [UInt8] = []
    private var prefix: [UInt8] = []

    /// Creates a splitter at the beginning of a stream.
    ///
    /// - Parameter maximumSize: the maximum size of a message in bytes.
    init(maximumSize: Int = 64 << 20) {
        self.maximumSize = maximumSize
    }

    /// Whether no message is incomplete, so that the stream may end here.
    var isEmpty: Bool { prefix.isEmpty }

    /// Appends bytes, and returns the messages that are complete.
    ///
    /// Allocates memory only for bytes that have arrived, not for the announced length.
    ///
    /// - Parameter limit: the number of messages after which the remaining bytes are dropped.
    /// - Throws: ``EtcdFailure`` if a message is compressed or too large, after those before it were returned; also from each later call.
    mutating func append(_ bytes: [UInt8], limit: Int = .max) throws(EtcdFailure) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var remaining = bytes[...]
        while messages.count < limit {
            Self.move(5 - prefix.count, from: &remaining, to: &prefix)
            guard prefix.count == 5 else { return messages }
            let length: Int
            do throws(EtcdFailure) {
                length = try announcedLength()
            } catch {
                // The next call reads the same prefix again.
                guard messages.isEmpty else { return messages }
                throw error
            }
            Self.move(length - message.count, from: &remaining, to: &message)
            guard message.count == length else { return messages }
            messages.append(message)
            (prefix, message) = ([], [])
        }
        return messages
    }

    /// Checks the prefix of the next message, if it has arrived.
    ///
    /// - Throws: the error that the next call of ``append(_:limit:)`` would throw.
    func check() throws(EtcdFailure) {
        if prefix.count == 5 { _ = try announcedLength() }
    }

    private static func move(_ count: Int, from source: inout ArraySlice<UInt8>, to target: inout [UInt8]) {
        target += source.prefix(count)
        source = source.dropFirst(count)
    }

    private func announcedLength() throws(EtcdFailure) -> Int {
        guard prefix.first == 0 else { throw EtcdFailure(code: nil, message: "the response cannot be read: it is compressed") }
        let length = prefix.dropFirst().bigEndian
        guard length <= maximumSize else {
            throw EtcdFailure(code: nil, message: "the response cannot be read: \(length) bytes are more than \(maximumSize)")
        }
        return Int(length)
    }

    /// A message of less than 4 GiB with its prefix.
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        [0] + UInt32(message.count).bigEndianBytes + message
    }
}
