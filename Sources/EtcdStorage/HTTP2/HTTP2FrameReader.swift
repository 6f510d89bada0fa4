/// Divides the bytes of a server into frames, wherever the pieces in which they arrive end.
///
/// A header block that is continued in further frames is returned as one, without padding and priority.
struct HTTP2FrameReader: Sendable {
    typealias Frame = (head: HTTP2FrameHead, payload: ArraySlice<UInt8>)

    /// How many bytes a header block may have.
    static let largestHeaderBlock = 65_536

    private var input: ArraySlice<UInt8> = []
    // A header block whose frames are still arriving.
    private var headers: Frame?

    /// Adds bytes, which ``next(isFirst:)`` reads.
    mutating func append(_ bytes: [UInt8]) {
        if input.isEmpty { input = bytes[...] } else { input += bytes }
    }

    /// The next frame; nil if more has to arrive first.
    ///
    /// - Parameter isFirst: whether it has to be the settings with which every server begins.
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
        // The slice keeps all that was read with it, as long as the connection is idle.
        if input.isEmpty { input = [] }
        return nil
    }

    private mutating func nextPart(_ isFirst: Bool) throws(HTTP2Violation) -> Frame? {
        // A server of another protocol may send less than a head, such as an alert of TLS; the type is the fourth byte.
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
