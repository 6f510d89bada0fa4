// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Stands in for what the codecs use of Foundation and of the C library.
@_exported public import System

public struct Date: Hashable, Sendable {
    public let timeIntervalSinceReferenceDate: Double

    public init(timeIntervalSinceReferenceDate seconds: Double) {
        timeIntervalSinceReferenceDate = seconds
    }
}

public struct Data: Hashable, Sendable, RandomAccessCollection, RangeReplaceableCollection {
    private var bytes: ArraySlice<UInt8> = []

    public init() {}

    public init(bytes start: UnsafeRawPointer, count: Int) {
        bytes = Array(UnsafeRawBufferPointer(start: start, count: count))[...]
    }

    public var startIndex: Int { bytes.startIndex }
    public var endIndex: Int { bytes.endIndex }
    public subscript(index: Int) -> UInt8 { bytes[index] }

    public subscript(range: Range<Int>) -> Data {
        var part = Data()
        part.bytes = bytes[range]
        return part
    }

    public mutating func replaceSubrange(_ range: Range<Int>, with others: some Collection<UInt8>) {
        bytes.replaceSubrange(range, with: others)
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes(body)
    }
}
