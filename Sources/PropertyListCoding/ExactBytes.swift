import Foundation

/// Text as a key of a table, told apart by its bytes: `String` itself takes canonically equal texts for the same.
struct ExactString: Hashable {
    let string: String

    static func == (left: ExactString, right: ExactString) -> Bool {
        left.string.hasSameBytes(as: right.string)
    }

    func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Data as a key of a table, hashed as a whole: `Data` itself hashes its beginning only.
struct ExactData: Hashable {
    let data: Data

    func hash(into hasher: inout Hasher) {
        data.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension String {
    /// Whether the UTF-8 of two strings is the same.
    func hasSameBytes(as other: String) -> Bool {
        let same = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count, let leftStart = left.baseAddress, let rightStart = right.baseAddress else {
                    return left.count == right.count
                }
                return memcmp(leftStart, rightStart, left.count) == 0
            }
        }
        return (same ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension [String: PropertyListValue] {
    /// The entries in the order of their keys' UTF-8, which is what makes the written bytes always the same.
    var inByteOrder: (keys: [String], values: [PropertyListValue]) {
        guard count > 1 else { return (Array(keys), Array(values)) }
        // The keys' bytes side by side compare faster than strings do.
        var text: [UInt8] = []
        var places: [KeyPlace] = []
        places.reserveCapacity(count)
        for (position, var key) in keys.enumerated() {
            let start = text.count
            key.withUTF8 { text.append(contentsOf: $0) }
            places.append(KeyPlace(start: start, count: text.count - start, position: position))
        }
        text.withUnsafeBytes { text in
            guard let base = text.baseAddress else { return }
            places.sort { left, right in
                let order = memcmp(base + left.start, base + right.start, Swift.min(left.count, right.count))
                return order == 0 ? left.count < right.count : order < 0
            }
        }
        let keys = Array(keys)
        let values = Array(values)
        return (places.map { keys[$0.position] }, places.map { values[$0.position] })
    }
}

private struct KeyPlace {
    let start: Int
    let count: Int
    let position: Int
}
