import FoundationSubset

extension UnsafeRawBufferPointer {
    /// The end of the run of ASCII that begins at an offset.
    func endOfASCII(from offset: Int = 0) -> Int {
        var end = offset
        while end + 8 <= count, loadUnaligned(fromByteOffset: end, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 { end += 8 }
        while end < count, self[end] < 0x80 { end += 1 }
        return end
    }

    var isASCII: Bool {
        var union = lastBytes
        // Decides for most texts in other scripts: without, peers.libplist.xml.parse.cyrillic takes 1.2 times as long.
        guard union & 0x8080_8080_8080_8080 == 0 else { return false }
        var offset = 0
        while offset + 8 < count {
            union |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return union & 0x8080_8080_8080_8080 == 0
    }

    package var isValidUTF8: Bool { isASCII || firstInvalidUTF8() == nil }

    /// The offset of the first byte that is not part of valid UTF-8.
    func firstInvalidUTF8() -> Int? {
        // Both halves at once, because each step waits for the one before: with the text as a whole, peers.libplist.xml.parse.cyrillic
        // takes 1.3 times as long.
        let middle = startOfScalar(before: count / 2)
        var (first, second) = (UTF8Automaton(), UTF8Automaton())
        var offset = 0
        /// How much of each half consists of valid scalars.
        var (firstEnd, secondEnd) = (0, 0)
        while offset + 8 <= middle, !first.hasFailed, !second.hasFailed {
            if first.isBetweenScalars { firstEnd = offset }
            if second.isBetweenScalars { secondEnd = offset }
            if firstEnd == offset, secondEnd == offset, (word(at: offset) | word(at: middle + offset)) & 0x8080_8080_8080_8080 == 0 {
                offset += 8
                continue
            }
            for index in offset..<offset + 8 {
                first.read(self[index])
                second.read(self[middle + index])
            }
            offset += 8
        }
        for index in offset..<middle { first.read(self[index]) }
        guard first.isBetweenScalars else { return firstInvalidScalar(from: firstEnd) }
        for index in middle + offset..<count { second.read(self[index]) }
        return second.isBetweenScalars ? nil : firstInvalidScalar(from: middle + secondEnd)
    }

    private func word(at offset: Int) -> UInt64 {
        loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private func startOfScalar(before offset: Int) -> Int {
        var start = offset
        while start > 0, self[start] & 0xC0 == 0x80 { start -= 1 }
        return start
    }

    private func firstInvalidScalar(from start: Int) -> Int? {
        var offset = start
        while offset < count {
            var parser = Unicode.UTF8.ForwardParser()
            var bytes = self[offset...].makeIterator()
            guard case .valid(let scalar) = parser.parseScalar(from: &bytes) else { return offset }
            offset += scalar.count
        }
        return nil
    }
}

/// Validates UTF-8 byte by byte, without a branch: with the standard library's parser of scalars, peers.libplist.xml.parse.cyrillic takes 3
/// times as long.
///
/// The steps of a byte are a word in which the bits at each state's position are the next state.
struct UTF8Automaton {
    private var state = State.start.position
    private let steps = Self.steps

    var isBetweenScalars: Bool { state & 63 == State.start.position }
    var hasFailed: Bool { state & 63 == State.failed.position }

    @inline(__always)
    mutating func read(_ byte: UInt8) {
        state = steps[Int(byte)] &>> state
    }

    private enum State: UInt64, CaseIterable {
        case start, failed
        /// The number of bytes that continue the scalar.
        case one, two, three
        /// After a first byte with which not every second byte is allowed.
        case afterE0, afterED, afterF0, afterF4

        var position: UInt64 { rawValue * 6 }

        func next(_ byte: UInt8) -> State {
            switch (self, byte) {
            case (.start, 0..<0x80), (.one, 0x80..<0xC0): .start
            case (.start, 0xC2..<0xE0), (.two, 0x80..<0xC0), (.afterE0, 0xA0..<0xC0), (.afterED, 0x80..<0xA0): .one
            case (.start, 0xE0): .afterE0
            case (.start, 0xED): .afterED
            case (.start, 0xE1..<0xF0), (.three, 0x80..<0xC0), (.afterF0, 0x90..<0xC0), (.afterF4, 0x80..<0x90): .two
            case (.start, 0xF0): .afterF0
            case (.start, 0xF1..<0xF4): .three
            case (.start, 0xF4): .afterF4
            default: .failed
            }
        }
    }

    private static let steps: [UInt64] = (0...255).map { byte in
        State.allCases.reduce(0) { $0 | $1.next(UInt8(byte)).position << $1.position }
    }
}

extension String {
    /// Creates a string from UTF-8 that is known to be valid, without validating it again.
    ///
    /// The initializer that validates it does so scalar by scalar: with it, peers.libplist.xml.parse.cyrillic takes 6 times as long.
    init(validUTF8 bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            self.init(copying: UTF8Span(unchecked: bytes.assumingMemoryBound(to: UInt8.self).span, isKnownASCII: isASCII))
        } else {
            self.init(decoding: bytes, as: UTF8.self)
        }
    }

    /// Creates a string from UTF-8; nil if it is not valid.
    ///
    /// `init(validating:as:)` takes ten times as long for a short name: it is not specialized.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        let isASCII = bytes.isASCII
        guard isASCII || bytes.firstInvalidUTF8() == nil else { return nil }
        self.init(validUTF8: bytes, isASCII: isASCII)
    }

    /// Calls a closure with the UTF-8 of the string.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        // A string bridged from Objective-C has no UTF-8 storage.
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    /// Whether two strings have the same UTF-8; `==` compares them normalized.
    package func hasSameBytes(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in left.count == right.count && left.isRepeated(in: right, at: 0) }
        }
    }
}
