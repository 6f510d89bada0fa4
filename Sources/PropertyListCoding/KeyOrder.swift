import Foundation

/// Puts the entries of a dictionary in the order of their keys' UTF-8, which is what makes the written bytes always the same.
///
/// It is made once for a property list and used for one dictionary after the other, so that small ones take no memory of their own.
struct KeyOrder {
    private var text: [UInt8] = []
    private var places: [KeyPlace] = []
    private var indices: [Dictionary<String, PropertyListValue>.Index] = []

    /// Orders the entries of a dictionary, and forgets those of the one before.
    mutating func sort(_ entries: [String: PropertyListValue]) {
        text.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        for index in entries.indices {
            let start = text.count
            // The keys' bytes side by side compare faster than strings do.
            entries.keys[index].withBytes { text.append(contentsOf: $0) }
            places.append(KeyPlace(start: start, count: text.count - start, position: indices.count))
            indices.append(index)
        }
        guard places.count > 1 else { return }
        text.withUnsafeBytes { text in
            places.withUnsafeMutableBufferPointer { places in
                places.readFronts(of: text)
                places.sort { $0.front < $1.front }
                // Keys that are still together have more in common than all of them: behind that they are told apart.
                var start = 0
                while start < places.count {
                    var end = start + 1
                    while end < places.count, places[end].front == places[start].front { end += 1 }
                    if end - start > 1 {
                        var group = UnsafeMutableBufferPointer(rebasing: places[start..<end])
                        group.readFronts(of: text)
                        group.sort { $0.stands(before: $1, in: text) }
                    }
                    start = end
                }
            }
        }
    }

    var count: Int { places.count }

    /// Where the entries are, in their order.
    var order: [Dictionary<String, PropertyListValue>.Index] {
        places.map { indices[$0.position] }
    }

    /// Does something with the UTF-8 of the key that comes at a position.
    func withKey<Result>(at position: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let place = places[position]
        return text.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[place.start..<place.start + place.count])) }
    }
}

private struct KeyPlace {
    let start: Int
    let count: Int
    let position: Int
    /// The 8 bytes behind what some keys begin with: they decide nearly every comparison.
    var front: UInt64 = 0

    init(start: Int, count: Int, position: Int) {
        (self.start, self.count, self.position) = (start, count, position)
    }

    func stands(before other: KeyPlace, in text: UnsafeRawBufferPointer) -> Bool {
        if front != other.front { return front < other.front }
        let left = text[start..<start + count]
        let right = text[other.start..<other.start + other.count]
        return left.lexicographicallyPrecedes(right)
    }
}

extension UnsafeMutableBufferPointer<KeyPlace> {
    /// Reads the fronts of keys behind what all of them begin with.
    fileprivate func readFronts(of text: UnsafeRawBufferPointer) {
        guard let first else { return }
        var sharedSize = first.count
        for place in self {
            sharedSize = Swift.min(sharedSize, place.count)
            var size = 0
            while size < sharedSize, text[first.start + size] == text[place.start + size] { size += 1 }
            sharedSize = size
        }
        for index in indices {
            let end = self[index].start + self[index].count
            var front: UInt64 = 0
            for place in self[index].start + sharedSize..<self[index].start + sharedSize + 8 {
                front = front << 8 | (place < end ? UInt64(text[place]) : 0)
            }
            self[index].front = front
        }
    }
}
