import Foundation

extension [String: PropertyListValue] {
    /// The entries in the order of their keys' UTF-8, which is what makes the written bytes always the same.
    var inByteOrder: [Element] {
        var entries = Array(self)
        guard count > 1 else { return entries }
        // The keys' bytes side by side compare faster than strings do.
        var text: [UInt8] = []
        var places: [KeyPlace] = []
        places.reserveCapacity(count)
        var sharedSize = Int.max
        for position in entries.indices {
            let start = text.count
            text.append(contentsOf: entries[position].key.utf8)
            let size = text.count - start
            sharedSize = text.sharedPrefix(start..<text.count, limit: Swift.min(sharedSize, places.first?.count ?? size))
            places.append(KeyPlace(start: start, count: size, position: position))
        }
        text.withUnsafeBytes { text in
            guard let base = text.baseAddress else { return }
            for index in places.indices { places[index].readFront(of: text, behind: sharedSize) }
            places.sort { left, right in
                if left.front != right.front { return left.front < right.front }
                let order = memcmp(base + left.start, base + right.start, Swift.min(left.count, right.count))
                return order == 0 ? left.count < right.count : order < 0
            }
        }
        entries.permute { places[$0].position }
        return entries
    }
}

extension Array {
    /// Puts at every place the element from the place that `source` names, each of which it names once.
    fileprivate mutating func permute(_ source: (Int) -> Int) {
        var isDone = [Bool](repeating: false, count: count)
        for start in indices where !isDone[start] {
            var place = start
            // Swapping along a cycle moves elements, where collecting them anew would retain and release each.
            while true {
                isDone[place] = true
                let next = source(place)
                if next == start { break }
                swapAt(place, next)
                place = next
            }
        }
    }
}

private struct KeyPlace {
    let start: Int
    let count: Int
    let position: Int
    /// The 8 bytes behind what all keys begin with: they decide nearly every comparison.
    var front: UInt64 = 0

    init(start: Int, count: Int, position: Int) {
        (self.start, self.count, self.position) = (start, count, position)
    }

    mutating func readFront(of text: UnsafeRawBufferPointer, behind sharedSize: Int) {
        for place in start + sharedSize..<start + sharedSize + 8 {
            front = front << 8 | (place < start + count ? UInt64(text[place]) : 0)
        }
    }
}

extension [UInt8] {
    /// How many bytes, up to a limit, a range begins with that the array begins with, too.
    fileprivate func sharedPrefix(_ range: Range<Int>, limit: Int) -> Int {
        var size = 0
        while size < limit, size < range.count, self[size] == self[range.lowerBound + size] { size += 1 }
        return size
    }
}
