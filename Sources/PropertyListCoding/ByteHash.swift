/// Hashes a few bytes, several times as fast as `Hasher` does.
///
/// Each word is multiplied by a secret and folded, so that nobody can make up bytes whose hashes fall together.
struct ByteHash {
    // Of `Hasher`, which is seeded anew in every process.
    private let start = UInt64(truncatingIfNeeded: Hasher().finalize())
    private let factor: UInt64 = {
        var hasher = Hasher()
        hasher.combine(0)
        return UInt64(truncatingIfNeeded: hasher.finalize()) | 1
    }()

    /// The hash of the bytes of text or data, of whose kind the marker is.
    @inline(__always)
    func callAsFunction(of bytes: UnsafeRawBufferPointer, marker: UInt8) -> UInt32 {
        let count = bytes.count
        var hash = start ^ UInt64(count) << 8 ^ UInt64(marker)
        var place = 0
        while place + 8 < count {
            hash = mix(hash, bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        return UInt32(truncatingIfNeeded: mix(mix(hash, bytes.lastBytes), 0))
    }

    /// The hash of a leaf that is one word.
    @inline(__always)
    func callAsFunction(of word: UInt64, marker: UInt8) -> UInt32 {
        UInt32(truncatingIfNeeded: mix(mix(start ^ UInt64(marker), word), 0))
    }

    @inline(__always)
    private func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let (high, low) = (hash ^ word).multipliedFullWidth(by: factor)
        return high ^ low
    }
}
