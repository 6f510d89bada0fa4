/// The header of a frame, and how frames are written (RFC 9113, section 4).
struct HTTP2FrameHead: Hashable, Sendable {
    /// The size of the header in bytes.
    static let size = 9
    static let defaultPayloadSize = 16_384
    /// The largest limit of the payload that can be set.
    static let largestPayloadSize = 1 << 24 - 1

    /// The type of a frame; other types are ignored.
    enum Kind: UInt8, Sendable {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    /// The flags of all types; the meaning of a bit depends on the type.
    struct Flags: OptionSet, Hashable, Sendable {
        let rawValue: UInt8

        /// The sender's side of the stream ends with this frame.
        static let endStream = Flags(rawValue: 0x1)
        /// Settings or a ping are acknowledged.
        static let acknowledgement = Flags(rawValue: 0x1)
        /// The header block is complete.
        static let endHeaders = Flags(rawValue: 0x4)
        /// The payload begins with the length of its padding.
        static let padded = Flags(rawValue: 0x8)
        /// The header block follows five bytes of priority information.
        static let priority = Flags(rawValue: 0x20)
    }

    var length: Int
    var kind: Kind?
    var flags: Flags
    /// The stream; 0 for the connection.
    var stream: UInt32

    /// Reads a frame header of nine bytes.
    init(_ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex
        length = Int(bytes.prefix(3).bigEndian)
        kind = Kind(rawValue: bytes[start + 3])
        flags = Flags(rawValue: bytes[start + 4])
        stream = bytes[(start + 5)..<(start + 9)].bigEndian & 0x7FFF_FFFF
    }

    /// The payload of a frame without padding.
    func content(of payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> ArraySlice<UInt8> {
        guard flags.contains(.padded) else { return payload }
        guard let size = payload.first, Int(size) < payload.count else { throw .padding }
        return payload.dropFirst().dropLast(Int(size))
    }

    static func append(
        _ kind: Kind, _ flags: Flags = [], stream: UInt32, _ payload: some Collection<UInt8>, to output: inout [UInt8]
    ) {
        output += UInt32(payload.count).bigEndianBytes.dropFirst()
        output.append(kind.rawValue)
        output.append(flags.rawValue)
        output += stream.bigEndianBytes
        output += payload
    }

    /// Appends a frame whose payload is a number of four bytes.
    static func append(_ kind: Kind, stream: UInt32 = 0, number: UInt32, to output: inout [UInt8]) {
        append(kind, stream: stream, number.bigEndianBytes, to: &output)
    }

    /// The GOAWAY frame of a client; the server has opened no streams.
    static func goAway(code: UInt32) -> [UInt8] {
        var output: [UInt8] = []
        append(.goAway, stream: 0, UInt32(0).bigEndianBytes + code.bigEndianBytes, to: &output)
        return output
    }
}

/// The error codes of streams and connections (RFC 9113, section 7).
enum HTTP2ErrorCode {
    static let noError = 0 as UInt32
    static let protocolError = 1 as UInt32
    static let flowControlError = 3 as UInt32
    static let frameSizeError = 6 as UInt32
    static let refusedStream = 7 as UInt32
    static let cancel = 8 as UInt32
    static let compressionError = 9 as UInt32
    static let enhanceYourCalm = 11 as UInt32
}

extension Collection<UInt8> {
    var bigEndian: UInt32 { reduce(0) { $0 << 8 | UInt32($1) } }
}

extension UInt32 {
    var bigEndianBytes: [UInt8] { stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) } }
}
