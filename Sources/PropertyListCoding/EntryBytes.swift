import Foundation

/// The entries of a dictionary as encoded leaves: made in the order that they have in memory, taken in that of their keys.
///
/// To look them up in the order of the keys, and to hash each when its hash is needed, would be to wait for memory every time.
struct EntryBytes: ~Copyable {
    /// A key and its value, one behind the other.
    private struct Entry {
        var middle = 0
        var end = 0
        var keyHash: UInt32 = 0
        /// Of a value that is kept as it is, which of them it is.
        var valueHash: UInt32 = 0
    }

    private var keys = KeyOrder()
    private var bytes = ByteSink()
    private var entries: [Entry] = []
    // Containers, and leaves so long that to copy their bytes would cost more than to look them up.
    private var kept: [PropertyListValue] = []
    private let hash = ByteHash()

    /// Takes the entries of a dictionary, and forgets those of the one before.
    mutating func take(_ dictionary: [String: PropertyListValue]) {
        keys.removeAll(roomFor: dictionary.count)
        bytes.removeAll(from: 0)
        bytes.reserve(dictionary.count * 32)
        entries.removeAll(keepingCapacity: true)
        entries.reserveCapacity(dictionary.count)
        kept.removeAll(keepingCapacity: true)
        for (key, value) in dictionary {
            var entry = Entry()
            let start = bytes.count
            key.withBytes { text in
                keys.append(text)
                bytes.put(utf8: text)
            }
            entry.middle = bytes.count
            entry.keyHash = hash(of: bytes.bytes(from: start))
            if value.isContainer || value.isLong {
                entry.valueHash = UInt32(kept.count)
                kept.append(value)
            } else {
                bytes.put(leaf: value)
                entry.valueHash = hash(of: bytes.bytes(from: entry.middle))
            }
            entry.end = bytes.count
            entries.append(entry)
        }
        keys.sort()
    }

    /// The key that comes at a position, encoded, and its hash.
    func key(at position: Int) -> (bytes: UnsafeRawBufferPointer, hash: UInt32) {
        let place = keys[position]
        let start = place == 0 ? 0 : entries[place - 1].end
        return (bytes.bytes(from: start, to: entries[place].middle), entries[place].keyHash)
    }

    /// The leaf that comes at a position, encoded, and its hash; no bytes if it is kept as it is.
    func leaf(at position: Int) -> (bytes: UnsafeRawBufferPointer, hash: UInt32) {
        let entry = entries[keys[position]]
        return (bytes.bytes(from: entry.middle, to: entry.end), entry.valueHash)
    }

    /// The value that comes at a position, where it is kept as it is.
    func value(at position: Int) -> PropertyListValue {
        kept[Int(entries[keys[position]].valueHash)]
    }
}

extension PropertyListValue {
    fileprivate var isLong: Bool {
        switch self {
        case .string(let string): string.utf8.count > 4096
        case .data(let data): data.count > 4096
        default: false
        }
    }
}
