import FoundationSubset

// The inlining in this file, EncodedEntries and BinaryWriter: binary.write takes 1.08 times as long without.

extension OutputBuffer {
    /// Appends an object that is not a container, and returns its hash.
    mutating func append(leaf: PropertyListValue, _ hash: LeafHash) -> UInt32 {
        switch leaf {
        case .string(let string): return string.withBytes { append(utf8: $0, isASCII: $0.isASCII, hash) }
        case .data(let data): return data.withUnsafeBytes { append(marker: 0x40, $0, hash) }
        case .integer(let integer): return append(integer, hash)
        case .real(let real): return append(marker: 0x23, real.bitPattern, size: 8, hash)
        case .boolean(let boolean):
            append(boolean ? 0x09 : 0x08)
            return hash(of: 0, marker: boolean ? 0x09 : 0x08)
        case .date(let date): return append(marker: 0x33, date.timeIntervalSinceReferenceDate.bitPattern, size: 8, hash)
        case .uid(let uid): return append(marker: 0x80 | UInt8(uid.minimumSize - 1), uid, size: uid.minimumSize, hash)
        case .array, .dictionary: return 0
        }
    }

    /// Appends a string, as ASCII if possible and otherwise as big-endian UTF-16, and returns its hash.
    @inline(__always)
    mutating func append(utf8 text: UnsafeRawBufferPointer, isASCII: Bool, _ hash: LeafHash) -> UInt32 {
        if isASCII { return append(marker: 0x50, text, hash) }
        let count = text.utf16Count
        append(marker: 0x60, count: count)
        append(utf16: text, count: count)
        return hash(of: text, marker: 0x60)
    }

    mutating func append(marker: UInt8, count: Int) {
        if count < 0xF {
            append(marker | UInt8(count))
        } else {
            append(marker | 0xF)
            let size = UInt64(count).minimumSize
            append(0x10 | UInt8(size.trailingZeroBitCount), UInt64(count), size: size)
        }
    }

    @inline(__always)
    private mutating func append(marker: UInt8, _ bytes: UnsafeRawBufferPointer, _ hash: LeafHash) -> UInt32 {
        append(marker: marker, count: bytes.count)
        append(bytes)
        return hash(of: bytes, marker: marker)
    }

    private mutating func append(marker: UInt8, _ bits: UInt64, size: Int, _ hash: LeafHash) -> UInt32 {
        append(marker, bits, size: size)
        return hash(of: bits, marker: marker)
    }

    /// Appends an integer as Foundation does: unsigned in 1, 2 or 4 bytes, signed in 8, and beyond that in 16.
    private mutating func append(_ integer: PropertyListInteger, _ hash: LeafHash) -> UInt32 {
        if integer.isNegative || integer.bits <= Int64.max {
            let size = integer.isNegative ? 8 : integer.bits.minimumSize
            return append(marker: 0x10 | UInt8(size.trailingZeroBitCount), integer.bits, size: size, hash)
        }
        append(0x14, 0, size: 8)
        append(integer.bits, size: 8)
        return hash(of: integer.bits, marker: 0x14)
    }
}

extension UInt64 {
    /// The number of bytes, 1, 2, 4 or 8, that hold the integer.
    var minimumSize: Int {
        // Branch-free, because the sizes are unpredictable.
        1 << ((self > 0xFF ? 1 : 0) + (self > 0xFFFF ? 1 : 0) + (self > 0xFFFF_FFFF ? 1 : 0))
    }
}

/// Hashes the bytes of leaves, several times as fast as `Hasher`.
///
/// Each word is multiplied by a secret and folded, so that collisions cannot be crafted.
struct LeafHash {
    // From `Hasher`, which is seeded per process.
    private let seed = UInt64(truncatingIfNeeded: Hasher().finalize())
    private let factor: UInt64 = {
        var hasher = Hasher()
        hasher.combine(0)
        return UInt64(truncatingIfNeeded: hasher.finalize()) | 1
    }()

    /// The hash of a text or data, or 0 if it is long; the marker distinguishes the two.
    @inline(__always)
    func callAsFunction(of bytes: UnsafeRawBufferPointer, marker: UInt8) -> UInt32 {
        bytes.count > Self.maximumSize ? 0 : whole(of: bytes, marker: marker)
    }

    private static var maximumSize: Int { 65_536 }

    /// The hash of a text or data of any size.
    @inline(__always)
    func whole(of bytes: UnsafeRawBufferPointer, marker: UInt8) -> UInt32 {
        let count = bytes.count
        var hash = seed ^ UInt64(count) << 8 ^ UInt64(marker)
        var offset = 0
        if count >= 64 { (hash, offset) = lanes(of: bytes, from: hash) }
        while offset + 8 < count {
            hash = mix(hash, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        return UInt32(truncatingIfNeeded: mix(mix(hash, bytes.lastWord), 0))
    }

    /// The hash of the whole blocks of 32 bytes, and their end.
    ///
    /// Four independent lanes: word by word, peers.libplist.binary.write.data takes 1.5 times as long.
    private func lanes(of bytes: UnsafeRawBufferPointer, from hash: UInt64) -> (hash: UInt64, end: Int) {
        var lanes = (hash, hash &+ 1, hash &+ 2, hash &+ 3)
        var offset = 0
        func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset + 8 * index, as: UInt64.self) }
        while offset + 32 < bytes.count {
            lanes = (mix(lanes.0, word(0)), mix(lanes.1, word(1)), mix(lanes.2, word(2)), mix(lanes.3, word(3)))
            offset += 32
        }
        return (mix(mix(lanes.0, lanes.1), mix(lanes.2, lanes.3)), offset)
    }

    func callAsFunction(of word: UInt64, marker: UInt8) -> UInt32 {
        UInt32(truncatingIfNeeded: mix(mix(seed ^ UInt64(marker), word), 0))
    }

    private func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let (high, low) = (hash ^ word).multipliedFullWidth(by: factor)
        return high ^ low
    }
}

/// Finds the object with the same bytes as a leaf, so that equal leaves are written once: a hash table with open addressing.
///
/// It refers to the output and copies nothing. The bytes of a leaf determine its end, so an equal prefix is an equal leaf.
struct LeafTable: ~Copyable {
    /// The hash avoids most comparisons of bytes; the object is its number plus 1, or 0 for a free slot.
    private typealias Slot = (hash: UInt32, object: UInt32)

    private var slots: ScratchArray<Slot>
    private var count = 0

    /// Creates a table in an arena with space for a number of leaves; it may grow larger.
    init(capacity: Int, in arena: ScratchArena) {
        let size = Self.slotCount(for: capacity)
        slots = ScratchArray(capacity: size, in: arena)
        slots.append(repeating: (0, 0), count: size)
    }

    static func scratchSize(for count: Int) -> Int {
        ScratchArena.size(of: Slot.self, count: slotCount(for: count))
    }

    private static func slotCount(for capacity: Int) -> Int {
        var size = 256
        while size * 3 < capacity * 4 { size *= 2 }
        return size
    }

    /// Returns the object with these bytes; if there is none, adds `object` for them and returns nil.
    mutating func find(
        _ bytes: UnsafeRawBufferPointer, hash: UInt32, in output: UnsafeRawBufferPointer, offsets: borrowing ScratchArray<Int>,
        orAdd object: Int
    ) -> Int? {
        find(hash: hash, orAdd: object) { bytes.isRepeated(in: output, at: offsets[$0]) }
    }

    /// Returns the first object with this hash that a closure accepts; if there is none, adds `object` and returns nil.
    @inline(__always)
    mutating func find(hash: UInt32, orAdd object: Int, where isEqual: (Int) -> Bool) -> Int? {
        if count * 4 >= slots.count * 3 { grow() }
        var index = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while true {
            let slot = slots[index]
            guard slot.object != 0 else { break }
            if slot.hash == hash {
                let known = Int(slot.object) - 1
                if isEqual(known) { return known }
            }
            index = (index + 1) & (slots.count - 1)
        }
        slots[index] = (hash, UInt32(object + 1))
        count += 1
        return nil
    }

    private mutating func grow() {
        var larger = ScratchArray<Slot>(repeating: (0, 0), count: slots.count * 2)
        for slot in slots.elements where slot.object != 0 {
            var index = Int(truncatingIfNeeded: slot.hash) & (larger.count - 1)
            while larger[index].object != 0 { index = (index + 1) & (larger.count - 1) }
            larger[index] = slot
        }
        slots = larger
    }
}
