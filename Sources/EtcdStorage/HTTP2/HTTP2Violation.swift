/// Why the bytes of a peer, or a response in them, are invalid.
enum HTTP2Violation: String, Error, Hashable, Sendable {
    case notHTTP2 = "it does not speak HTTP/2"
    case frameTooLarge = "a frame is larger than allowed"
    case frameSize = "the size of a frame does not fit its type"
    case frameOrder = "a frame is where its type is not allowed"
    case streamNumber = "a frame names a stream that does not exist, or does not fit its type"
    case padding = "the padding of a frame is longer than its payload"
    case settings = "a setting has a value that is not allowed"
    case windowOverflow = "a flow control window is exceeded, or becomes too large"
    case headerBlock = "a header block is not valid"
    case headerIndex = "a header block refers to a field that is not in the static table"
    case headerString = "a string in a header block has an invalid Huffman code"
    case headerTableSize = "a header block changes the size of the dynamic table after a field, or to another one than 0"
    case headersTooLarge = "its header is too large"
    case headerFields = "a field of its header is missing or malformed"
    case messageTooLarge = "its body is too large"

    /// The error code of the GOAWAY frame.
    var code: UInt32 {
        switch self {
        case .frameTooLarge, .frameSize: HTTP2ErrorCode.frameSizeError
        case .windowOverflow: HTTP2ErrorCode.flowControlError
        case .headerBlock, .headerIndex, .headerString, .headerTableSize: HTTP2ErrorCode.compressionError
        case .headersTooLarge, .messageTooLarge: HTTP2ErrorCode.enhanceYourCalm
        case .notHTTP2, .frameOrder, .streamNumber, .padding, .settings, .headerFields: HTTP2ErrorCode.protocolError
        }
    }
}
