/// Divides the bytes of a server, which arrive in parts of any size, into frames.
///
/// A header block with continuations is returned as one frame, without padding and priority.
struct HTTP2FrameReader: Sendable {
    typealias Frame = (head: HTTP2FrameHead, payload: ArraySlice<UInt8>)

    /// The maximum size of a header block in bytes.
    static let largestHeaderBlock = 65_536

    private var input: ArraySlice<UInt8> = []
    // A header block whose frames are still arriving.
    private var headers: Frame?

    mutating func append(_ bytes: [UInt8]) {
        if input.isEmpty { input = bytes[...] } else { input += bytes }
    }

    /// The next frame; nil if more has to arrive first.
    ///
    /// - Parameter isFirst: whether it has to be the server's settings, with which a connection begins.
    mutating func next(isFirst: Bool) throws(HTTP2Violation) -> Frame? {
        while let (head, payload) = try nextPart(isFirst) {
            guard (head.kind == .continuation) == (headers != nil) else { throw .frameOrder }
            switch head.kind {
            case .headers: headers = (head, try Self.headerBlock(head, payload))
            case .continuation:
                guard headers?.head.stream == head.stream else { throw .frameOrder }
                headers?.payload += payload
            default: return (head, payload)
            }
            if let frame = try takeHeaders(after: head) { return frame }
        }
        // An empty slice would retain its whole buffer while the connection is idle.
        if input.isEmpty { input = [] }
        return nil
    }

    private mutating func nextPart(_ isFirst: Bool) throws(HTTP2Violation) -> Frame? {
        // A server of another protocol may send less than a frame header, such as a TLS alert; the type is the fourth byte.
        if isFirst, let type = input.dropFirst(3).first, type != HTTP2FrameHead.Kind.settings.rawValue { throw .notHTTP2 }
        guard input.count >= HTTP2FrameHead.size else { return nil }
        let head = HTTP2FrameHead(input)
        guard !isFirst || !head.flags.contains(.acknowledgement) else { throw .notHTTP2 }
        guard head.length <= HTTP2FrameHead.defaultPayloadSize else { throw .frameTooLarge }
        let size = HTTP2FrameHead.size + head.length
        guard input.count >= size else { return nil }
        let payload = input.prefix(size).dropFirst(HTTP2FrameHead.size)
        input = input.dropFirst(size)
        return (head, payload)
    }

    private static func headerBlock(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> ArraySlice<UInt8> {
        let block = try head.content(of: payload)
        guard head.flags.contains(.priority) else { return block }
        guard block.count >= 5 else { throw .frameSize }
        return block.dropFirst(5)
    }

    private mutating func takeHeaders(after last: HTTP2FrameHead) throws(HTTP2Violation) -> Frame? {
        guard let frame = headers else { return nil }
        guard frame.payload.count <= Self.largestHeaderBlock else { throw .headersTooLarge }
        guard last.flags.contains(.endHeaders) else { return nil }
        headers = nil
        return frame
    }
}
