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

    func callAsFunction(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = start ^ UInt64(bytes.count)
        var place = 0
        while place + 8 <= bytes.count {
            hash = mix(hash, bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        var rest: UInt64 = 0
        while place < bytes.count {
            rest = rest << 8 | UInt64(bytes[place])
            place += 1
        }
        return mix(mix(hash, rest), 0)
    }

    private func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let (high, low) = (hash ^ word).multipliedFullWidth(by: factor)
        return high ^ low
    }
}
