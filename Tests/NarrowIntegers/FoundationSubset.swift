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

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    public init?(base64Encoded text: String) {
        var (bits, count, padding) = (0, 0, 0)
        for digit in text.utf8 {
            count += 1
            if digit == UInt8(ascii: "=") {
                padding += 1
                bits <<= 6
            } else {
                guard padding == 0, let value = Self.digits.firstIndex(of: digit) else { return nil }
                bits = bits << 6 | value
            }
            if count.isMultiple(of: 4) {
                for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
                bits = 0
            }
        }
        guard count.isMultiple(of: 4), padding <= 2, padding < count else { return nil }
        bytes.removeLast(padding)
    }

    public func base64EncodedString() -> String {
        var text: [UInt8] = []
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 3) {
            let group = bytes[start..<Swift.min(start + 3, bytes.endIndex)]
            var bits = 0
            for offset in 0..<3 { bits = bits << 8 | (offset < group.count ? Int(group[start + offset]) : 0) }
            for digit in 0..<4 {
                text.append(digit <= group.count ? Self.digits[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
